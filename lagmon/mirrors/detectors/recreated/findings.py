"""Findings about a skipped start of a re-created source topic. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet.quantity import between_text, count_text
from fleet.verdicts.vocabulary import Cause
from lagmon.groups.rules.sentences import instant_text
from lagmon.mirrors.answers.findings import MirrorFinding
from lagmon.mirrors.detectors.recreated.outcome import markers_may_explain

if TYPE_CHECKING:
    from lagmon.mirrors.detectors.recreated.followed import Followed, RecreatedTopic
    from lagmon.mirrors.detectors.recreated.outcome import Base, PartitionPoll


def suspicion(
    recreated: RecreatedTopic, partition: int, seen: PartitionPoll, maybe_old: int, followed: Followed
) -> MirrorFinding:
    """Return what may have been skipped, if the first offset may be of either log."""
    records = maybe_old - seen.start
    sentence = (
        f"{recreated.topic}-{partition} on {followed.source_name} was re-created (seen at "
        f"{instant_text(recreated.at_ms)}). The mirror's first offset, {maybe_old}, was written before that "
        f"was seen: if it is of the old log, at least {count_text(records, 'record')} of the new one, "
        f"{seen.start} to {maybe_old - 1}, {'was' if records == 1 else 'were'} not replicated. The "
        "growth of the target fits both; run mirrorwatch checksum to find out."
    )
    return _passed(
        recreated, partition, seen, (maybe_old, None), least=records, proved=False, sentence=sentence
    )


def _other_explanation(
    recreated: RecreatedTopic, base: Base, seen: PartitionPoll, followed: Followed, place: int
) -> str:
    """Return what else may explain that the target has grown by less than all, "" for nothing."""
    if followed.compacted:
        return " Compaction may have left such a gap too."
    before, _ = followed.target.bounds_at(place, max(base.at_ms, recreated.known_ms))
    _, after = followed.target.bounds_at(place, base.at_ms)
    # The target's end when the base was written lies between two polls: a burst may have arrived then.
    is_own = seen.low - base.next_offset <= seen.target_end - after <= seen.high - base.next_offset
    if markers_may_explain(base, seen) and not (is_own and after >= 0):
        return " Markers of transactions may have left such a gap too."
    least, most = seen.target_end - after, seen.target_end - before
    fits = least <= seen.high - seen.start and most >= seen.low - seen.start
    if fits and 0 <= before <= base.target_end <= after:
        grew = f"the target was growing, by {after - before:,}, when offset {base.next_offset} was written"
        return f" Or all was replicated: {grew}."
    return ""


def finding(
    recreated: RecreatedTopic,
    partition: int,
    base: Base,
    seen: PartitionPoll,
    followed: Followed,
    *,
    place: int,
    most: int | None,
) -> MirrorFinding:
    """Return what was skipped; `place` is the target's.

    The mirror continued at the base at least, and at `most`; None if that is unknown. It may have replicated
    more of the old log than its last offset shows.
    """
    uncertainty = _other_explanation(recreated, base, seen, followed, place)
    least = base.next_offset - seen.start
    if followed.transactional:
        least = -(-least // 2)  # each transaction marker ends at least one record
    went = "the mirror continued in the middle of the new log"
    moved = f"went from {base.next_offset} to {seen.low}"
    if seen.low == base.next_offset:
        went, moved = f"the mirror is where the new log ends, at {base.next_offset}", "stayed there"
    sentence = (
        f"{recreated.topic}-{partition} on {followed.source_name} was re-created (seen at "
        f"{instant_text(recreated.at_ms)}), and {went}: {between_text(least, most, 'record')}, from offset "
        f"{seen.start} on, {'was' if most == 1 else 'were'} not replicated. The target "
        f"grew by {seen.target_end - base.target_end:,} while its offset {moved}.{uncertainty}"
    )
    return _passed(
        recreated,
        partition,
        seen,
        (base.next_offset, most),
        least=least,
        proved=not uncertainty,
        sentence=sentence,
    )


def _passed(
    recreated: RecreatedTopic,
    partition: int,
    seen: PartitionPoll,
    until: tuple[int, int | None],
    *,
    least: int,
    proved: bool,
    sentence: str,
) -> MirrorFinding:
    """Return the finding about the new log's records below `until`: at least, at most."""
    first, most = until
    return MirrorFinding(
        code=Cause.TOPIC_RECREATED,
        topic=recreated.topic,
        partition=partition,
        at_ms=seen.at_ms,
        records=least,
        records_most=most,  # from 0 on, whatever the present log start
        first_offset=seen.start,
        last_offset=first - 1,
        proved=proved,
        sentence=sentence,
    )
