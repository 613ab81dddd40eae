"""Facts of a flow in addition to its verdict: failed or halted tasks, blocked or re-created topics. Pure.

Lost or altered records are listed among the findings, and reported there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lagmon.groups.rules.sentences import instant_text
from lagmon.mirrors import words as mirror_words
from lagmon.mirrors.answers.findings import HELD_MS
from lagmon.mirrors.detectors.left_out import held as mirror_held
from lagmon.mirrors.detectors.left_out import unread as mirror_unread
from lagmon.mirrors.detectors.left_out import unwatched as mirror_unwatched

if TYPE_CHECKING:
    from lagmon.mirrors.flow import MirrorFlow
    from lagmon.mirrors.metadata.topics import Recreation
    from lagmon.mirrors.snapshot import FlowSnapshot


def other_facts(flow: MirrorFlow, found: FlowSnapshot, *, said: str) -> str:
    """Return further sentences, "" if everything is said already."""
    # Who does not run carries nothing, also while there is nothing to be copied.
    held = mirror_held.sentence(flow, found.held)
    states = (mirror_words.failed(flow.states), flow.states.halted_sentence(), held)
    told = [one for one in states if one and one not in said]
    lossy = {one.topic for one in found.findings if one.proved} | {one.topic for one in found.undecided}
    lately = {
        (one.topic, one.side): one
        for one in flow.topics.recreations
        if found.now_ms - one.at_ms <= HELD_MS and one.topic not in lossy
    }
    if lately:
        told.append(_recreated(flow, list(lately.values())))
    told += [
        found.restarted,
        flow.soonest.sentence(flow, found),
        mirror_unwatched.sentence(flow, found.unwatched),
        mirror_unread.sentence(flow, found.partitions, refused_only=True),
    ]
    return " ".join(one for one in told if one and one not in said)


def may_lose(flow: MirrorFlow, found: FlowSnapshot) -> str:
    """Return that source topics were re-created while it is unknown how the mirror continued."""
    one = found.undecided[-1]
    return (
        f"{one.topic} on {flow.order.flow.source} was re-created (seen at {instant_text(one.at_ms)}): "
        "if it grew longer than the old one before the mirror read it, the mirror skips its start. "
        "Its next offsets show that."
    )


def _recreated(flow: MirrorFlow, recreated: list[Recreation]) -> str:
    one = recreated[-1]
    side = flow.order.flow.source if one.side == "source" else flow.order.flow.target
    name = one.topic if one.side == "source" else flow.topics.remote.get(one.topic, one.topic)
    others = len(recreated) - 1
    more = f", and {others} more {'topic' if others == 1 else 'topics'} lately" if others else ""
    return f"{name} on {side} was re-created (seen at {instant_text(one.at_ms)}{more}): no loss is known."
