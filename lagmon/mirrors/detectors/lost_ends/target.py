"""A target log that lost its end, for example by an unclean leader election: a suspicion. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from fleet.quantity import between_text
from fleet.verdicts.vocabulary import Cause
from lagmon.mirrors.answers.findings import MirrorFinding

if TYPE_CHECKING:
    from lagmon.mirrors.view import FlowView


class TargetEnd(NamedTuple):
    """Where the mirror continues, and where its target ended then."""

    next_offset: int
    end: int


def end_lost(
    flow: FlowView, name: tuple[str, int], before: TargetEnd, now: TargetEnd, *, seen: str, at_ms: int
) -> MirrorFinding:
    """Return that a target log is shorter: it lacks at least the difference, at most also later records.

    `seen` is where it ended, before and now.
    """
    topic, partition = name
    remote, target = flow.topics.remote.get(topic, topic), flow.order.flow.target
    least = before.end - now.end
    most = least + now.next_offset - before.next_offset
    return MirrorFinding(
        code=Cause.UNEXPLAINED,
        topic=topic,
        partition=partition,
        at_ms=at_ms,
        records=least,
        records_most=most,
        side="target",
        proved=False,
        sentence=(
            f"Partition {partition} of {remote} on {target} lost its log end, as after an unclean leader "
            f"election: it {seen}. {between_text(least, most, 'record').capitalize()} may be missing, and "
            "the mirror does not replicate them again. Run mirrorwatch checksum to list them."
        ),
    )
