"""Validate the sections of a YAML file, and continue after an error to report all of them at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from fleet.errors import Problem
from mirrorwatch.configuration.sections import RootSection, spelled
from runtime.config.sections import problems_of

if TYPE_CHECKING:
    from runtime.config.strict_yaml import Document

MOST_ROUNDS = 20
# Replaces a refused cluster, so that it causes no further problem.
PLACEHOLDER = {"bootstrap.servers": "placeholder:9092"}
_MIRROR = (("mm2",), ("connect",))


def sections_of(document: Document) -> tuple[RootSection | None, list[Problem]]:
    """Return the sections without invalid values, and every problem; None if too little is valid."""
    data: Any = _copy(document.data)
    problems = _same_flows(document)
    for _ in range(MOST_ROUNDS):
        try:
            return RootSection.model_validate(data), problems
        except ValidationError as error:
            reported = {problem.key for problem in problems}  # a key that was removed is not missing
            problems += [one for one in _problems(error, document) if one.key not in reported]
            if any(details["loc"][:1] in _MIRROR for details in error.errors(include_url=False)):
                return None, problems  # without the mirror, clusters and flows cannot be checked
            for details in error.errors(include_url=False):
                _prune(data, details["loc"])
    return None, problems


def _problems(error: ValidationError, document: Document) -> list[Problem]:
    return problems_of(
        error,
        file=document.file,
        prefix="",
        line_of=document.line_of,
        model=RootSection,
        secrets=document.secrets,
    )


def _same_flows(document: Document) -> list[Problem]:
    """Return a problem for each flow in two spellings, such as A->B and A -> B."""
    flows = document.data.get("flows")
    problems = []
    first: dict[str, str] = {}
    for written in flows if isinstance(flows, dict) else ():
        name = spelled(written)
        if name in first:
            line, earlier = document.line_of(("flows", written)), document.line_of(("flows", first[name]))
            sentence = f"same flow as '{first[name]}' in line {earlier}; keep one"
            problems.append(Problem(f"{document.file}:{line}", f"flows.{written}", sentence))
        first.setdefault(name, written)
    return problems


def _prune(data: Any, steps: tuple[int | str, ...]) -> None:
    """Remove the value of an error from the data; a cluster is replaced as a whole."""
    if steps[:1] == ("clusters",) and len(steps) > 1 and isinstance(data.get("clusters"), dict):
        data["clusters"][steps[1]] = dict(PLACEHOLDER)
        return
    holder, key = None, None
    for step in steps:
        if isinstance(data, list) and isinstance(step, int) and step < len(data):
            data = data[step]  # an entry stays, because its removal would renumber those after it
            continue
        if not isinstance(data, dict) or step not in data:
            break
        holder, key, data = data, step, data[step]
    if holder is not None:
        holder.pop(key, None)


def _copy(value: Any) -> Any:
    match value:
        case dict():
            return {key: _copy(each) for key, each in value.items()}
        case list():
            return [_copy(each) for each in value]
        case _:
            return value
