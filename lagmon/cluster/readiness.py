"""Whether what is told of a cluster's groups is all of it, and if not, how far the reading has come. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fleet.verdicts.words import ended
from lagmon.groups.rules.sentences import instant_text
from runtime.process.supervision import Phase

if TYPE_CHECKING:
    from lagmon.cluster.state import Away
    from lagmon.ingest.commits import Progress
    from runtime.process.supervision import State


def not_ready(
    state: State | None, progress: Progress | None, failing: Away | None = None
) -> dict[str, Any] | None:
    """Return why a cluster's groups are not all known, as a document has it; None where they are.

    `phase` is starting, reading, down or refused; `sentence` is for people. Records are offsets, summed over
    partitions: transactions' markers and what compaction took away count too. `failing` is what the last
    look at the cluster failed by: another try that goes on does not mean that it answers.
    """
    if state is not None and state.phase in (Phase.DOWN, Phase.REFUSED):
        return _told(state.phase.value, _whole(state.sentence), progress)
    if failing is not None and (progress is None or progress.ready_after_s is None):
        phase = Phase.REFUSED if failing.refused else Phase.DOWN
        return _told(phase.value, _whole(failing.why), progress)
    if progress is not None and progress.refused:
        return _told(Phase.REFUSED.value, _whole(progress.refused), progress)
    if progress is None or not progress.began_at:
        return _told("starting", "The topics and the ends of their logs are being looked up.", progress)
    if progress.ready_after_s is None:
        return _told("reading", _reading(progress), progress)
    return None


def unread(progress: Progress | None, *, known: bool) -> bool:
    """Tell whether what stands at a cluster is still to be read, so that no group is known as it is.

    Not where all was read that can be: a partition without a leader holds up no more than its own groups.
    `known` tells whether groups are known from an earlier reading, which has ended.
    """
    if progress is None:
        return not known
    if progress.refused:
        return True
    if progress.ready_after_s is not None:
        return False
    if progress.total_groups is not None:
        return progress.asked_groups < progress.total_groups or not progress.total_groups
    return progress.read_records < progress.total_records or not progress.total_records


def away_sentence(alias: str, away: Away) -> str:
    """Say since when a cluster does not answer, or refuses us, and why."""
    does = "refuses us" if away.refused else "does not answer"
    return f"{alias} {does} since {instant_text(away.since_ms)}: {ended(away.why)}"


def share_read(progress: Progress | None) -> float:
    """Return how much of what was there at the beginning is read, or how many groups were asked, as a share.

    It is 1 only where all groups are known.
    """
    if progress is None or not progress.began_at or progress.refused:
        return 0.0
    if progress.ready_after_s is not None:
        return 1.0
    total, done = progress.total_groups, progress.asked_groups
    if total is None:
        total, done = progress.total_records, progress.read_records
    return min(done / total, 0.999) if total else 0.0


def _told(phase: str, sentence: str, progress: Progress | None) -> dict[str, Any]:
    return {
        "phase": phase,
        "sentence": sentence,
        "total_records": progress.total_records if progress else 0,
        "read_records": min(progress.read_records, progress.total_records) if progress else 0,
    }


def _reading(progress: Progress) -> str:
    said = _so_far(progress)
    return f"{said} {_whole(progress.problem)}" if progress.problem else said


def _so_far(progress: Progress) -> str:
    if progress.total_groups is not None:
        if not progress.total_groups:
            return "The Admin API is being asked which groups there are."
        asked, total = progress.asked_groups, progress.total_groups
        return (
            f"The Admin API is being asked where the groups stand: {asked:,} of {total:,} group{_s(total)}."
        )
    total = progress.total_records
    read = min(progress.read_records, total)
    share = f", {100 * read // total} %" if total else ""
    return f"What the groups have committed is being read: {read:,} of {total:,} record{_s(total)}{share}."


def _s(count: int) -> str:
    return "" if count == 1 else "s"


def _whole(text: str) -> str:
    """Return an error's text as a sentence."""
    return ended(f"{text[:1].upper()}{text[1:]}")
