"""Whether all groups of a cluster are known, and if not, how far reading has come. Pure."""

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
    """Return why a cluster's groups are not all known, as a document; None if they are.

    `phase` is starting, reading, down or refused. Records are offsets summed over partitions, transaction
    markers and compacted records included. `failing` is the failure of the last poll: a new attempt under way
    does not mean that the cluster answers.
    """
    if state is not None and state.phase in (Phase.DOWN, Phase.REFUSED):
        return _document(state.phase.value, _whole(state.sentence), progress)
    if failing is not None and (progress is None or progress.ready_after_s is None):
        phase = Phase.REFUSED if failing.refused else Phase.DOWN
        return _document(phase.value, _whole(failing.why), progress)
    if progress is not None and progress.refused:
        return _document(Phase.REFUSED.value, _whole(progress.refused), progress)
    if progress is None or not progress.began_at:
        return _document("starting", "Reading topics and log end offsets.", progress)
    if progress.ready_after_s is None:
        return _document("reading", _reading(progress), progress)
    return None


def unread(progress: Progress | None, *, known: bool) -> bool:
    """Return whether a cluster's groups are still to be read, so that none is known.

    A partition without a leader delays only its own groups. `known`: groups are known from an earlier
    reading that has ended.
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
    """Return since when a cluster has not answered, or has denied access, and why."""
    state = "has denied access" if away.refused else "has not answered"
    return f"{alias} {state} since {instant_text(away.since_ms)}: {ended(away.why)}"


def share_read(progress: Progress | None) -> float:
    """Return the share of the initial records that is read, or of the groups that were polled.

    It is 1 only if all groups are known.
    """
    if progress is None or not progress.began_at or progress.refused:
        return 0.0
    if progress.ready_after_s is not None:
        return 1.0
    total, done = progress.total_groups, progress.asked_groups
    if total is None:
        total, done = progress.total_records, progress.read_records
    return min(done / total, 0.999) if total else 0.0


def _document(phase: str, sentence: str, progress: Progress | None) -> dict[str, Any]:
    return {
        "phase": phase,
        "sentence": sentence,
        "total_records": progress.total_records if progress else 0,
        "read_records": min(progress.read_records, progress.total_records) if progress else 0,
    }


def _reading(progress: Progress) -> str:
    sentence = _so_far(progress)
    return f"{sentence} {_whole(progress.problem)}" if progress.problem else sentence


def _so_far(progress: Progress) -> str:
    if progress.total_groups is not None:
        if not progress.total_groups:
            return "Listing groups with the Admin API."
        asked, total = progress.asked_groups, progress.total_groups
        return f"Reading offsets with the Admin API: {asked:,} of {total:,} group{_s(total)}."
    total = progress.total_records
    read = min(progress.read_records, total)
    share = f", {100 * read // total} %" if total else ""
    return f"Reading commits of groups: {read:,} of {total:,} record{_s(total)}{share}."


def _s(count: int) -> str:
    return "" if count == 1 else "s"


def _whole(text: str) -> str:
    """Return an error's text as a sentence."""
    return ended(f"{text[:1].upper()}{text[1:]}")
