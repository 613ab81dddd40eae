"""Sentences about a mirror, which differ by the source of its progress. Pure.

The sentences about single partitions are those of groups, with the words of a mirror.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fleet.quantity import between_text, count_text, duration_text
from lagmon.groups.rules.admin_sentences import with_members
from lagmon.groups.rules.sentences import instant_text
from lagmon.groups.rules.words import Reason
from lagmon.mirrors.detectors.rewinds.steps import Rewound
from lagmon.mirrors.tasks.states import FAILED, UNASSIGNED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from lagmon.cluster.state import ClusterLag
    from lagmon.mirrors.answers.orders import MirrorOrder
    from lagmon.mirrors.detectors.retention.overtaken import Overtaken
    from lagmon.mirrors.detectors.rewinds.steps import Step
    from lagmon.mirrors.metadata.topics import Missing
    from lagmon.mirrors.snapshot import FlowSnapshot
    from lagmon.mirrors.tasks.states import MirrorStates
    from lagmon.mirrors.view import FlowView

SHOWN = 3  # names in a sentence
LONGEST = 60  # characters of each
SHOWN_PARTITIONS = 5
LOST_WITH_SOURCE = " The source's log lost the records that were there, so the mirror replicates new ones."


def reading(flow: FlowView) -> str:
    """Return why nothing is known yet."""
    order = flow.order
    match order.lag_from:
        case "group":
            return f"Group commits on {order.offsets_cluster} are not read to the end yet."
        case "equal-offsets":
            return f"The logs of {order.flow.source} and {order.flow.target} are not polled yet."
        case "connect-offsets" if not order.offsets_topic:
            return (
                "The offsets topic of the mirror's worker is unknown (its offset.storage.topic); "
                f"set flows.{order.name}.offsets."
            )
    return f"The mirror's offsets topic {order.offsets_topic} on {order.offsets_cluster} is not read yet."


def unlisted(alias: str, cluster: ClusterLag) -> str:
    """Return why nothing is known of a cluster's logs if none of its topics is known."""
    if not cluster.listed:
        return f"The topics of {alias} are not listed yet."
    return (
        f"No topic of {alias} is visible: it has none, or the principal lacks Describe on them; grant it "
        "(`mirrorwatch check --acls` prints how)."
    )


def nothing(flow: FlowView) -> str:
    """Return why no partition has an offset though everything was read."""
    order = flow.order
    match order.lag_from:
        case "group":
            return flow.problem or f"No group on {order.offsets_cluster} matches {order.group}."
        case "equal-offsets":
            return (
                f"No target topic of the flow has records on {order.flow.target}: the mirror has replicated "
                "nothing yet, or under other names (see flows.A->B.policy)."
            ).replace("A->B", order.name)
    named = f" of the connector {order.connector}" if order.connector else ""
    return (
        f"{order.offsets_topic} on {order.offsets_cluster} has no offset{named} for {order.flow.source}: "
        "the mirror has replicated nothing yet, or stores its offsets in another topic."
    )


def well(flow: FlowView, snapshot: FlowSnapshot, used: NDArray[np.intp]) -> str:
    """Return the sentence of a healthy flow."""
    partitions = snapshot.partitions
    lag = partitions.lag[used]
    behind = count_text(int(lag[lag >= 0].sum()), "record")
    every = duration_text(partitions.cadence_ms / 1000)
    age = duration_text(max(0, snapshot.now_ms - snapshot.read_to_ms) / 1000)
    match flow.order.lag_from:
        case "group":
            who = names(flow.groups, "the group", "the groups")
            moved = "was last seen to move" if flow.asks_groups else "last committed"
            when = f"{who} {moved} (every {every}, {'asked' if flow.asks_groups else 'read'} {age} ago)"
        case "equal-offsets":
            when = f"{flow.order.flow.target} was last polled (every {every}, {age} ago)"
        case _:
            when = f"the mirror last stored its offsets (every {every}, read {age} ago)"
    sentence = f"Lag {behind} on {count_text(len(used), 'partition')} when {when}."
    return f"{sentence} {flow.note}" if flow.note else sentence


def known_by(order: MirrorOrder) -> str:
    """Return the source of a number that depends on the mirror's own progress."""
    match order.lag_from:
        case "group":
            return "by its group's commits alone"
        case "equal-offsets":
            return "by the target's log ends alone"
    return "by its stored offsets alone"


def overtaken(order: MirrorOrder, lost: Sequence[Overtaken]) -> str:
    """Return which records were deleted before a stalled mirror read them, and what its offsets show."""
    least, most = sum(one.records for one in lost), sum(one.most for one in lost)
    copied, copied_most = sum(one.copied for one in lost), sum(one.copied_most for one in lost)
    shown = ", ".join(
        f"{between_text(one.records, one.most)} of {one.topic}-{one.partition}"
        for one in lost[:SHOWN_PARTITIONS]
    )
    others = len(lost) - SHOWN_PARTITIONS
    more = f" and {count_text(others, 'more partition')}" if others > 0 else ""
    by = known_by(order)
    alone = (
        f". {by[0].upper()}{by[1:]} it would be {least + copied_most}, but"
        f" {between_text(copied, copied_most)} of them had reached {order.flow.target}."
        if copied_most
        else f", {by}."
    )
    return (
        f"Records lost: retention on {order.flow.source} deleted {between_text(least, most, 'record')} before"
        f" the mirror replicated {'it' if most == 1 else 'them'} ({shown}{more}){alone}"
    )


def perhaps_overtaken(order: MirrorOrder, records: int, partitions: int) -> str:
    """Return that a log starts after the mirror's offset, if no poll shows what was lost."""
    return (
        f"On {count_text(partitions, 'partition')} the log on {order.flow.source} starts after the mirror's "
        f"newest offset: up to {count_text(records, 'record')} may be lost to retention."
    )


def failed(states: MirrorStates) -> str:
    """Return which task has failed and what that means, "" if none has."""
    opening = states.sentence(FAILED)
    return f"{opening} Its partitions do not move until it is restarted." if opening else ""


def without_worker(states: MirrorStates) -> str:
    """Return which task is on no worker and how long Connect may leave it so (KIP-415), "" if none is."""
    opening = states.sentence(UNASSIGNED)
    moves = (
        "Connect starts the tasks of a worker that left on another one after"
        " scheduled.rebalance.max.delay.ms (5 minutes by default)."
    )
    return f"{opening} {moves}" if opening else ""


def assigned(connector: str, tasks: Sequence[int], *, partitions: int, of: int) -> str:
    """Return which tasks the stalled partitions are assigned to; `partitions` of `of` are assigned to any."""
    who = names(tuple(map(str, tasks)), "task", "tasks")
    them = ("It is" if of == 1 else "They are") if partitions == of else f"{partitions:,} of them are"
    rest = "" if partitions == of else ", the others to none"
    return f"{them} assigned to {who} of {connector}{rest}."


def passed_over(order: MirrorOrder, tasks: int, partitions: int) -> str:
    """Return that the tasks of the stalled partitions replicate others, and what that means."""
    opening = (
        "That task replicates other partitions, so it does not hang"
        if tasks == 1
        else "Those tasks replicate other partitions, so they do not hang"
    )
    it, drops = "it" if partitions == 1 else "them", order.flow.handling.drops
    if not drops:
        why = f"the mirror lacks READ on {it}, or cannot reach a leader, or something drops {it} on the way"
        return f"{opening}: {why}."
    return (
        f"{opening}: the mirror applies {', '.join(drops)}, which may drop all records of {it}; or it lacks"
        f" READ on {it}, or cannot reach a leader. Run mirrorwatch checksum to find out."
    )


def dropped_tails(order: MirrorOrder) -> str:
    """Return that a transform may have dropped the last records of partitions; offsets cannot prove it."""
    return (
        "They are the last records of their partitions. The mirror applies "
        f"{', '.join(order.flow.handling.drops)}, which may drop them; or their task hangs. "
        "Run mirrorwatch checksum to find out."
    )


def down_or_dropped(order: MirrorOrder) -> str:
    """Return the other explanation for unreplicated last records of an idle flow."""
    return (
        f"Or it runs, and {', '.join(order.flow.handling.drops)} drops these records: nothing else was"
        " written that could show it."
    )


def unassigned(order: MirrorOrder, connector: str, partitions: int, dealt_ms: int) -> str:
    """Return that no task is assigned to the stalled partitions."""
    it = "it" if partitions == 1 else "them"
    return (
        f"No task of {connector} is assigned to {it} (assignment of {instant_text(dealt_ms)}): the mirror's"
        f" topics and topics.exclude leave {it} out, or it no longer sees {it} on {order.flow.source}."
    )


def waiting(missing: Sequence[Missing]) -> str:
    """Return which topics are not replicated yet: some of them, and how many more there are."""
    shown = " ".join(one.sentence for one in missing[:SHOWN])
    others = len(missing) - SHOWN
    if others <= 0:
        return shown
    return f"{shown} {count_text(others, 'more topic')} {'waits' if others == 1 else 'wait'} as well."


def rewound(step: Step) -> str:
    """Return what a step back means, as a sentence after the one about the partition."""
    if step.means is Rewound.REPEATED:
        return f" They are replicated again: {step.proof}."
    if step.means is Rewound.RESTARTED:
        return f" They are replicated again, as after a kill and restart: {step.proof}."
    if step.means is Rewound.LATE:  # while it is below the highest: else it is past that
        return LOST_WITH_SOURCE
    again = count_text(step.peak - step.back, "record")
    return (
        f" Its next offsets show whether it replicates {again} from {step.back} again, or stored an old"
        " offset late."
    )


def row(flow: FlowView, snapshot: FlowSnapshot, slot: int) -> str:
    """Return why a partition has its status: the sentence about a group, with the words of a mirror."""
    order, rows = flow.order, snapshot.partitions.rows
    if not order.progress.commits and rows.reason[slot] == Reason.BEYOND_END:
        return _ahead(flow, snapshot, slot)
    if flow.asks_groups:  # the Admin API has no commit times
        rows = with_members(rows, np.full(len(rows.reason), -1))
    sentence = rows.sentence(slot)
    for phrase, meant in (*_OF_GROUPS, *(_OF_POLLS if not order.progress.commits else ())):
        sentence = sentence.replace(phrase, meant)
    return sentence


_OF_GROUPS = (
    ("the group has read everything", "the mirror has replicated everything"),
    ("The group's", "The mirror's"),
    ("The group", "The mirror"),
    ("the group", "the mirror"),
    ("this group", "this mirror"),
    ("Group ", "Mirror "),
    (" The number of its members is unknown.", ""),
)
# With equal offsets there are no commits: the end of the target topic is polled.
_OF_POLLS = (
    ("although the mirror still commits", "although polls of the target still return the same end"),
    ("last commit at", "last poll of the target at"),
    ("unknown after one commit", "unknown after one poll"),
    ("the mirror has not committed on this partition", "the target topic is not polled yet"),
    ("the commit at", "the poll of the target at"),
    ("commits are read only up to", "the target was last polled"),
    ("the mirror's commits are not read up to the present yet", "the target topic is not polled yet"),
    ("after the commit of offset", "after the target's end was at offset"),
    ("the next commit settles it", "the next poll settles it"),
)


def _ahead(flow: FlowView, snapshot: FlowSnapshot, slot: int) -> str:
    order, rows = flow.order.flow, snapshot.partitions.rows
    facts = rows.facts(slot)
    more = count_text(facts.offset - facts.before, "record")
    return (
        f"The log on {order.target} has {more} more than the source: it ends at {facts.offset}, and the log "
        f"on {order.source} ended at {facts.before} when it was polled afterwards. The source lost its end "
        "or was re-created, or another producer writes to the target topic, or offsets are not equal here "
        "(then set another lag_from)."
    )


def names(found: tuple[str, ...], one: str, several: str) -> str:
    """Return names for a sentence, only the first ones if there are many."""
    if not found:
        return several
    shown = ", ".join(short(name) for name in found[:SHOWN])
    more = f" and {len(found) - SHOWN} more" if len(found) > SHOWN else ""
    return f"{one if len(found) == 1 else several} {shown}{more}"


def short(name: str) -> str:
    """Return a name for a sentence, cut if it is long, without characters that cannot be printed."""
    shown = "".join(one if one.isprintable() else f"\\u{ord(one):04x}" for one in name[:LONGEST])
    return f"{shown}..." if len(name) > LONGEST else shown
