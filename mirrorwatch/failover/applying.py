"""Commit exported offsets for a group on a target, if nothing speaks against it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet.errors import ConfigurationError, Problem
from lagmon.ingest.admin_plan import WITHOUT_MEMBERS
from runtime.kafka.positions import Which

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mirrorwatch.failover.cluster import ClusterReader
    from mirrorwatch.failover.offsets_file import OffsetsFile, Position


def changes_of(file: OffsetsFile, target: ClusterReader, *, path: str) -> list[Position]:
    """Return the positions whose offset is not committed yet, all or those that an earlier run has left.

    Raises ConfigurationError with everything that speaks against committing them.
    """
    topics, alias = target.topics(), target.alias
    found: list[tuple[str, str]] = []
    if file.target_cluster_id != target.cluster_id:
        wrong = f"the file is of cluster {file.target_cluster_id}, and {alias} is {target.cluster_id}"
        found.append(("target_cluster_id", f"{wrong}; export the offsets again"))
    state = target.groups().get(file.group)
    if state is not None and state not in WITHOUT_MEMBERS:
        found.append(("group", f"{file.group} has members on {alias} ({state}); stop them first"))
    places = [(one.topic, one.partition) for one in file.positions]
    there = [place for place in places if place[1] < topics.get(place[0], 0)]
    ids = target.topic_ids(sorted({topic for topic, _ in there}))
    starts, ends = target.offsets(there, Which.START), target.offsets(there, Which.END)
    committed = target.committed([file.group])[file.group] if state is not None else {}
    for place, one in zip(places, file.positions, strict=True):
        against = f"does not exist on {alias}; remove it from the file"
        if place in there and one.topic_id is not None and ids.get(one.topic, one.topic_id) != one.topic_id:
            against = f"the topic was re-created since the export; {_again(one)}"
        elif place in there and one.basis == "replaced":
            against = ""  # what was committed before may be committed again, whatever is deleted since
        elif place in there:
            against = _out_of_range(one, starts.get(place), ends.get(place), alias)
        sentences = against, _moved(one, committed.get(place))
        found += [("positions", f"{one.topic}-{one.partition}: {each}") for each in sentences if each]
    if found:
        raise ConfigurationError([Problem(path, key, sentence) for key, sentence in found])
    return [
        one for place, one in zip(places, file.positions, strict=True) if one.offset != committed.get(place)
    ]


def _out_of_range(position: Position, start: int | None, end: int | None, alias: str) -> str:
    if start is None or end is None:
        return f"{alias} did not return its log offsets; try again"
    offset = position.offset
    return "" if start <= offset <= end else f"{offset} is not within {start} to {end}; {_again(position)}"


def _moved(position: Position, now: int | None) -> str:
    """Return what is wrong with a committed offset that is neither that of the export nor the wanted one."""
    if now in (position.current, position.offset):
        return ""
    was, has = ("none" if one is None else one for one in (position.current, now))
    return f"the committed offset was {was} and is {has}; {_again(position)}"


def _again(position: Position) -> str:
    return "run 'offsets reset' again" if position.basis in ("time", "end") else "export the offsets again"


def replaced(file: OffsetsFile, changes: Iterable[Position], *, at: str) -> OffsetsFile:
    """Return the file that undoes these changes; partitions without a committed offset are left out."""
    return file.model_copy(
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
                for one in changes
                if one.current is not None
            ],
        }
    )
