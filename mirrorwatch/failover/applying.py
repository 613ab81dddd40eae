"""Commit exported offsets for a group on a target, if nothing speaks against it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fleet.errors import ConfigurationError, Problem
from mirrorwatch.failover.facts import RUNNING
from runtime.kafka.positions import Which

if TYPE_CHECKING:
    from mirrorwatch.failover.cluster import ClusterReader
    from mirrorwatch.failover.offsets_file import OffsetsFile, Position


@dataclass(frozen=True, slots=True)
class Plan:
    """What `apply` would commit: `changes` differ from what is committed, `same` do not."""

    file: OffsetsFile
    changes: tuple[Position, ...]
    same: int


def planned(file: OffsetsFile, target: ClusterReader, *, path: str) -> Plan:
    """Compare a file with the target; raises ConfigurationError with everything that speaks against it."""
    topics = target.topics()
    problems = []

    def refuse(key: str, sentence: str) -> None:
        problems.append(Problem(path, key, sentence))

    if file.target_cluster_id != target.cluster_id:
        wrong = f"the file is of cluster {file.target_cluster_id}, and {target.alias} is {target.cluster_id}"
        refuse("target_cluster_id", f"{wrong}; export the offsets again")
    state = target.groups().get(file.group)
    if state in RUNNING:
        refuse("group", f"{file.group} has members on {target.alias} ({state}); stop them first")
    places = [(one.topic, one.partition) for one in file.positions]
    missing = [place for place in places if place[1] >= topics.get(place[0], 0)]
    for topic, number in missing:
        refuse("positions", f"{topic}-{number} does not exist on {target.alias}; remove it from the file")
    there = [place for place in places if place not in missing]
    starts, ends = target.offsets(there, Which.START), target.offsets(there, Which.END)
    committed = target.committed([file.group])[file.group] if state is not None else {}
    for one in file.positions:
        place = one.topic, one.partition
        start, end = starts.get(place), ends.get(place)
        if start is not None and end is not None and not start <= one.offset <= end:
            refuse("positions", f"{one.topic}-{one.partition}: {one.offset} is not within {start} to {end}")
        if committed.get(place) != one.current:
            now = committed.get(place, "none")
            was = "none" if one.current is None else one.current
            moved = f"the committed offset was {was} and is {now}"
            refuse("positions", f"{one.topic}-{one.partition}: {moved}; export the offsets again")
    if problems:
        raise ConfigurationError(problems)
    changes = tuple(one for one in file.positions if one.offset != one.current)
    return Plan(file, changes, len(file.positions) - len(changes))


def replaced(plan: Plan, *, at: str) -> OffsetsFile:
    """Return the file that undoes a plan; partitions without a committed offset are left out."""
    return plan.file.model_copy(
        update={
            "at": at,
            "positions": [
                one.model_copy(
                    update={
                        "offset": one.current,
                        "current": one.offset,
                        "basis": "replaced",
                        "source_topic": None,
                        "source_offset": None,
                    }
                )
                for one in plan.changes
                if one.current is not None
            ],
        }
    )
