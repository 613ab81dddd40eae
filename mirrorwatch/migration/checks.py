"""Whether a new mirror can take over where the old one has ended. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from fleet.quantity import count_text
from mirrorwatch.migration.seeds import wanted_offsets

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fleet.verdicts.flow import Flow
    from mirrorwatch.failover.cluster import Place
    from mirrorwatch.migration.positions import MirrorPositions

_EXAMPLES = 3


class Status(StrEnum):
    """The result of one check."""

    OK = "ok"
    OPEN = "to do"  # a step of the plan
    WRONG = "wrong"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Check:
    """One check: what was checked, its status, and a sentence. `blocks`: the positions are of no use."""

    subject: str
    status: Status
    sentence: str
    blocks: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanFacts:
    """The file of positions, and what clusters and the new mirror answered now.

    `flow` is that of the new mirror. `ends` and `target_ends` are log end offsets; the latter by the topics
    that the old mirror replicates to. `old_members` is the number of workers in the old mirror's group, None
    if it has none. `held` are the offsets of the new mirror, None if they cannot be read, with the reason in
    `held_problem`. `runs` and `evidence` are about the new mirror. `added` are partitions that it replicates
    and that the file does not have, with the number of their source offsets.
    """

    file: MirrorPositions
    flow: Flow
    source_topics: Mapping[str, int]
    source_ids: Mapping[str, str]
    starts: Mapping[Place, int]
    ends: Mapping[Place, int]
    target_ids: Mapping[str, str]
    target_ends: Mapping[Place, int]
    old_members: int | None
    held: Mapping[Place, int] | None
    runs: bool | None
    evidence: str
    held_problem: str = ""
    added: Mapping[Place, int] = field(default_factory=dict)

    @property
    def has_continued(self) -> bool:
        """Return whether the new mirror runs, and is at each position or after it."""
        held, wanted = self.held, wanted_offsets(self.file, self.flow)
        if not self.runs or held is None:
            return False
        return all(held.get(place, -1) >= offset for place, offset in wanted.items())


def checks_of(facts: PlanFacts) -> list[Check]:
    """Return all checks, in the order of the work."""
    return [_old_mirror(facts), _topics(facts), _source(facts), _target(facts), _offsets(facts), _new(facts)]


def _old_mirror(facts: PlanFacts) -> Check:
    subject, file = "old mirror", facts.file
    moved = [
        f"{one.target_topic}-{each.partition}"
        for one in file.topics
        for each in one.partitions
        if (each.target_end or 0) != facts.target_ends.get((one.target_topic, each.partition), 0)
    ]
    target = facts.flow.target
    if facts.old_members:
        workers = count_text(facts.old_members, "worker")
        sentence = f"it runs: group {file.worker_group} on {file.worker_cluster} has {workers}; stop it"
        return Check(subject, Status.WRONG, sentence, blocks=True)
    if file.stopped is False:
        sentence = f"it ran when the positions were exported at {file.at}; stop it, and export them again"
        return Check(subject, Status.WRONG, sentence, blocks=True)
    if moved and facts.runs:
        status = Status.OK if facts.has_continued else Status.UNKNOWN
        return Check(subject, status, f"{target} has new records since the export, and the new mirror runs")
    if moved:
        sentence = (
            f"{_some(moved, 'partition')} of {target} have other log end offsets than at the export;"
            " make sure that nothing writes there, and export the positions again"
        )
        return Check(subject, Status.WRONG, sentence, blocks=True)
    still = f"no new records on {target} since the export"
    if file.stopped is None:
        sentence = f"{still}; whether the mirror is stopped is not visible: make sure that it is"
        return Check(subject, Status.UNKNOWN, sentence)
    return Check(subject, Status.OK, f"stopped; {still}")


def _topics(facts: PlanFacts) -> Check:
    subject, file, flow = "topics", facts.file, facts.flow
    recreated = [one.topic for one in file.topics if one.is_recreated(facts.source_ids)]
    gone = [one.topic for one in file.topics if one.topic not in facts.source_topics]
    target_recreated = [one.target_topic for one in file.topics if one.is_target_recreated(facts.target_ids)]
    wrong = []
    if recreated:
        wrong.append(f"{_some(recreated, 'topic')} of {flow.source} re-created since the export")
    if gone:
        wrong.append(f"{_some(gone, 'topic')} of {flow.source} deleted since the export")
    if target_recreated:
        wrong.append(f"{_some(target_recreated, 'topic')} of {flow.target} re-created since the export")
    if wrong:
        return Check(subject, Status.WRONG, f"{'; '.join(wrong)}; export the positions again", blocks=True)
    replicated = [one for one in file.topics if flow.decide(one.topic).replicated]
    left = [one.topic for one in file.topics if not flow.decide(one.topic).replicated]
    if left:
        sentence = f"the new mirror does not replicate {_some(left, 'topic')}; change its topic filter"
        return Check(subject, Status.WRONG, sentence, blocks=True)
    renamed = [one for one in replicated if flow.remote_topic(one.topic) != one.target_topic]
    partitions = count_text(sum(len(one.partitions) for one in replicated), "partition")
    sentence = f"{count_text(len(replicated), 'topic')}, {partitions}"
    if renamed:
        one = renamed[0]
        sentence += (
            f"; {count_text(len(renamed), 'topic')} with another name on {flow.target}, such as"
            f" {flow.remote_topic(one.topic)} for {one.target_topic}"
        )
    if facts.added:
        records = count_text(sum(facts.added.values()), "record")
        sentence += (
            f"; {_places(list(facts.added))} without a position: the new mirror replicates them from the"
            f" start (up to {records})"
        )
    return Check(subject, Status.OK, sentence)


def _source(facts: PlanFacts) -> Check:
    subject, flow = "source log", facts.flow
    deleted, records, short, silent = [], 0, [], []
    for place, position in facts.file.places.items():
        name = f"{place[0]}-{place[1]}"
        if place not in facts.starts or place not in facts.ends:
            silent.append(name)
        elif facts.starts[place] > position.next_offset:
            deleted.append(name)
            records += facts.starts[place] - position.next_offset
        elif facts.ends[place] < position.next_offset:
            short.append(name)
    if short:
        sentence = (
            f"{_some(short, 'partition')} of {flow.source} end before the position; the log was truncated"
        )
        return Check(subject, Status.WRONG, f"{sentence}; export the positions again", blocks=True)
    if deleted:
        sentence = (
            f"up to {count_text(records, 'record')} of {_some(deleted, 'partition')} were deleted on"
            f" {flow.source} before they were replicated; they are lost"
        )
        return Check(subject, Status.WRONG, sentence)
    if silent:
        return Check(subject, Status.UNKNOWN, f"{_some(silent, 'partition')} not answered; try again")
    waiting = sum(facts.ends[place] - one.next_offset for place, one in facts.file.places.items())
    return Check(subject, Status.OK, f"up to {count_text(waiting, 'record')} to replicate, all still there")


def _target(facts: PlanFacts) -> Check:
    subject, flow = "target log", facts.flow
    bounds = {place: one.repeated_most for place, one in facts.file.places.items()}
    unknown = [f"{topic}-{number}" for (topic, number), most in bounds.items() if most is None]
    most = sum(each or 0 for each in bounds.values())
    count = count_text(most, "record")
    if unknown:
        sentence = (
            f"how many records are repeated is unknown for {_some(unknown, 'partition')} without offset"
            f" syncs; at most {count} in the others"
        )
        return Check(subject, Status.OK, sentence)
    repeated = f"at most {count} repeated on {flow.target}" if most else "no record is repeated"
    return Check(subject, Status.OK, repeated)


def _offsets(facts: PlanFacts) -> Check:
    subject = "offsets"
    if facts.held is None:
        return Check(subject, Status.UNKNOWN, facts.held_problem)
    if facts.runs:
        status = Status.OK if facts.has_continued else Status.WRONG
        where = "at the exported positions, or after them"
        return Check(subject, status, where if facts.has_continued else f"not all {where}")
    wanted = wanted_offsets(facts.file, facts.flow)
    missing = [place for place in wanted if place not in facts.held]
    ahead = [place for place, offset in wanted.items() if facts.held.get(place, offset) > offset]
    behind = [place for place, offset in wanted.items() if facts.held.get(place, offset) < offset]
    extra = [place for place in facts.held if place not in wanted]
    parts = []
    if missing:
        parts.append(f"{_places(missing)} without an offset: they would start again")
    if behind:
        repeated = sum(wanted[place] - facts.held[place] for place in behind)
        parts.append(f"{_places(behind)} behind: up to {count_text(repeated, 'record')} would be repeated")
    if ahead:
        skipped = sum(facts.held[place] - wanted[place] for place in ahead)
        parts.append(f"{_places(ahead)} ahead: up to {count_text(skipped, 'record')} would be skipped")
    if extra:
        parts.append(f"{_places(extra)} with an offset that the old mirror has not")
    if parts:
        return Check(subject, Status.OPEN, "; ".join(parts))
    return Check(subject, Status.OK, f"{count_text(len(wanted), 'partition')} at the exported positions")


def _new(facts: PlanFacts) -> Check:
    subject = "new mirror"
    if facts.runs is None:
        return Check(subject, Status.UNKNOWN, facts.evidence)
    if facts.has_continued:
        return Check(subject, Status.OK, f"it runs and has continued from the positions: {facts.evidence}")
    if facts.runs:
        return Check(subject, Status.WRONG, f"it runs already: {facts.evidence}; stop it until all is ready")
    return Check(subject, Status.OK, f"not started: {facts.evidence}")


def _places(places: Sequence[Place]) -> str:
    return _some([f"{topic}-{number}" for topic, number in places], "partition")


def _some(names: Sequence[str], what: str) -> str:
    """Return a count with examples, as in `12 partitions (orders-0, orders-1, orders-2 and more)`."""
    shown = ", ".join(names[:_EXAMPLES]) + (" and more" if len(names) > _EXAMPLES else "")
    return f"{count_text(len(names), what)} ({shown})"
