"""Objectives as OpenSLO v1 files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from alerts.config import objective_problems
from alerts.objectives.openslo import KEYS_OF, can_be_written, document_of, entry_of
from alerts.reports.wording import objective_text
from fleet.errors import ConfigurationError, Problem
from mirrorwatch.configuration.text import read_bytes
from runtime.config import strict_yaml
from runtime.config.yaml_output import yaml_text

if TYPE_CHECKING:
    from pathlib import Path

    from mirrorwatch.configuration.configuration import Configuration


def written(config: Configuration) -> tuple[str, list[str]]:
    """Return SLOs as YAML, one document each, and a line for each objective that cannot be written."""
    objectives = config.objectives_to("write")
    fit = [one for one in objectives if can_be_written(one)]
    lines = [
        f"{one.flow} {objective_text(one)}: cannot be written; OpenSLO's ratio metrics count events"
        for one in objectives
        if not can_be_written(one)
    ]
    return "---\n".join(yaml_text(document_of(one)) for one in fit), lines


def section_of(path: Path) -> str:
    """Return a section `objectives` as YAML; raises ConfigurationError with all problems."""
    problems: list[Problem] = []
    entries = []
    for part in strict_yaml.split(read_bytes(path), file=str(path)):
        document = strict_yaml.load(part.text, file=str(path), above=part.above)
        entry, wrong = entry_of(document.data)
        entries.append(entry)
        where = f"{path}:{part.above + 1}"
        if not wrong:
            wrong = [(KEYS_OF[key], sentence) for key, sentence in objective_problems(entry)]
        problems += [Problem(where, key, sentence) for key, sentence in wrong]
    if not entries:
        problems.append(Problem(str(path), "", "has no document; write an SLO of openslo/v1"))
    if problems:
        raise ConfigurationError(problems)
    return yaml_text({"objectives": entries})
