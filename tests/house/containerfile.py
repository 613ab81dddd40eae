"""Read a Containerfile into its instructions, well enough to judge it without an engine."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction: its word in upper case, the rest of its line, and the stage that it stands in."""

    word: str
    rest: str
    stage: int

    @property
    def listed(self) -> list[str] | None:
        """Return the exec form's list, or None where it is written as a shell would read it."""
        found = re.search(r"\[.*\]$", self.rest)
        return json.loads(found[0]) if found else None


def instructions(text: str) -> list[Instruction]:
    """Return every instruction in order; continued lines are joined, comments dropped."""
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    joined = re.sub(r"\\\n\s*", " ", "\n".join(lines))
    found, stage = [], -1
    for line in filter(None, map(str.strip, joined.splitlines())):
        word, rest = line.split(maxsplit=1)
        stage += word.upper() == "FROM"
        found.append(Instruction(word.upper(), rest, stage))
    return found
