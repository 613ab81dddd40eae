"""Further facts of a flow: failed or halted tasks, blocked or re-created topics. Pure.

Lost or altered records are findings, and reported there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lagmon.groups.rules.sentences import instant_text
from lagmon.mirrors import sentences as mirror_sentences
from lagmon.mirrors.answers.findings import HELD_MS
from lagmon.mirrors.detectors.unreplicated import blocked as mirror_blocked
from lagmon.mirrors.detectors.unreplicated import unread as mirror_unread
from lagmon.mirrors.detectors.unreplicated import unwatched as mirror_unwatched

if TYPE_CHECKING:
    from lagmon.mirrors.flow import MirrorFlow
    from lagmon.mirrors.metadata.topics import Recreation
    from lagmon.mirrors.snapshot import FlowSnapshot


def other_facts(flow: MirrorFlow, snapshot: FlowSnapshot, *, sentence: str) -> str:
    """Return further sentences, "" if `sentence` has them all."""
    # A task that does not run is reported even if there is nothing to replicate.
    blocked = mirror_blocked.sentence(flow, snapshot.blocked)
    states = (mirror_sentences.failed(flow.states), flow.states.halted_sentence(), blocked)
    sentences = [one for one in states if one and one not in sentence]
    lossy = {one.topic for one in snapshot.findings if one.proved} | {one.topic for one in snapshot.undecided}
    lately = {
        (one.topic, one.side): one
        for one in flow.topics.recreations
        if snapshot.now_ms - one.at_ms <= HELD_MS and one.topic not in lossy
    }
    if lately:
        sentences.append(_recreated(flow, list(lately.values())))
    sentences += [
        snapshot.restarted,
        flow.soonest.sentence(flow, snapshot),
        mirror_unwatched.sentence(flow, snapshot.unwatched),
        mirror_unread.sentence(flow, snapshot.partitions, refused_only=True),
    ]
    return " ".join(one for one in sentences if one and one not in sentence)


def may_lose(flow: MirrorFlow, snapshot: FlowSnapshot) -> str:
    """Return that source topics were re-created, and that it is unknown where the mirror continued."""
    one = snapshot.undecided[-1]
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
