"""What MirrorMaker says nothing about: keys that it ignores, and settings that do not do what they seem to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet import java_properties
from fleet.errors import Problem

if TYPE_CHECKING:
    from fleet.mm2_resolution import Mm2Properties
    from fleet.topology import Topology


def warnings_of(
    file: str, entries: tuple[java_properties.Entry, ...], mm2: Mm2Properties, topology: Topology
) -> tuple[Problem, ...]:
    """Return every warning about one file, in the order of the file's lines."""
    found = [
        Problem(file, later.key, f"stands in lines {earlier.line} and {later.line}; the last one holds.")
        for earlier, later in java_properties.repeated(entries)
    ]
    return tuple(found)
