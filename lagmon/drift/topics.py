"""Topics that are missing on the target, partition counts, and topics whose records loop. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from fleet.quantity import count_text, duration_text
from lagmon.drift.differences import Comparison, Difference, Kind, Omission

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from fleet.topology import Topology
    from fleet.verdicts.flow import Flow

Pairs = Mapping[str, str]  # names on the target by names on the source, of the topics that a flow replicates

EXISTS, MISSING = "exists", "missing"
AHEAD_MS = 300_000  # how far the clock of a producer may be ahead
NEVER = {
    "internal": (
        "MirrorMaker takes the name for that of an internal topic and never replicates it: rename the topic,"
        " or exclude it in topics.exclude"
    ),
    "cycle": (
        "the name starts with the alias of a cluster, so MirrorMaker takes the topic for one that was"
        " replicated from the target, and never replicates it: rename the topic, or exclude it in"
        " topics.exclude"
    ),
}


def missing_topics(
    flow: Flow,
    pairs: Pairs,
    on_target: Collection[str],
    *,
    never: Mapping[str, str],
    unsure: Collection[str] = (),
    hidden: Collection[str] = (),
    sees_none: bool = False,
    since_ms: Mapping[str, int],
    now_ms: int,
) -> Comparison:
    """Return which topics are not on the target.

    `never` are topics that match the filter and that MirrorMaker does not replicate, with the rule (a key of
    NEVER). `unsure` are topics for which it depends on the version of MirrorMaker. `hidden` are names on the
    target that the principal may not see; `sees_none`: it sees no topic on the source. `since_ms` is since
    when a topic of the source is known to exist, epoch ms: one that is younger than the mirror's refresh is
    expected. A time in the future is that of a wrong clock, and does not count.
    """
    known_ms = {topic: at_ms for topic, at_ms in since_ms.items() if at_ms <= now_ms + AHEAD_MS}
    found: list[Difference] = []
    remarks: list[Difference] = []
    unseen: list[str] = []
    for topic, remote in pairs.items():
        if remote in on_target:
            continue
        if remote in hidden:
            unseen.append(topic)
            continue
        until_ms = _due_ms(flow, known_ms.get(topic))
        if until_ms is not None and until_ms > now_ms:
            advice = f"expected at the next refresh, {_refresh(flow)}: check again later"
            remarks.append(_missing(topic, remote, advice, until_ms))
        else:
            found.append(_missing(topic, remote, _why_missing(flow, known=topic in known_ms)))
    found += [_missing(topic, flow.remote_topic(topic), NEVER[rule]) for topic, rule in never.items()]
    omissions = (
        Omission(f"the principal may not see them on {flow.target}: grant it Describe", tuple(unseen)),
        Omission("it depends on the version of MirrorMaker: set mirror_version", tuple(unsure)),
    )
    kept = [one for one in omissions if one.subjects]
    if sees_none:
        kept.append(Omission(f"no topic is visible on {flow.source}: grant the principal Describe on topics"))
    return Comparison(
        kind=Kind.TOPIC_MISSING,
        compared=len(pairs) + len(never) - len(unseen),
        differences=tuple(found),
        remarks=tuple(remarks),
        omissions=tuple(kept),
    )


def _missing(topic: str, remote: str, advice: str, until_ms: int | None = None) -> Difference:
    return Difference(Kind.TOPIC_MISSING, topic, remote, "topic", EXISTS, MISSING, advice, until_ms)


def _due_ms(flow: Flow, since_ms: int | None) -> int | None:
    """Return when the mirror has had time to create a topic; None if that is not known or never."""
    if since_ms is None or flow.refresh_topics_interval_s is None:
        return None
    return since_ms + round(flow.refresh_topics_interval_s * 1000)


def _refresh(flow: Flow) -> str:
    return f"every {duration_text(flow.refresh_topics_interval_s or 0)}"


def _why_missing(flow: Flow, *, known: bool) -> str:
    if flow.refresh_topics_interval_s is None:
        return "the mirror detects new topics only at its start (refresh.topics.enabled is false): restart it"
    check = "check the mirror's log, and its permission Create on the target"
    if known:
        return f"older than the mirror's topic refresh ({_refresh(flow)}): {check}"
    return f"its age is unknown; if it is older than the mirror's topic refresh ({_refresh(flow)}), {check}"


def partition_counts(
    flow: Flow, pairs: Pairs, source: Mapping[str, int], target: Mapping[str, int]
) -> Comparison:
    """Return which topics have fewer partitions on the target; more of them are a remark."""
    found: list[Difference] = []
    remarks: list[Difference] = []
    compared = 0
    fewer = (
        "the task that replicates it hangs until partitions are added: wait for the mirror's topic refresh,"
        " or add them on the target"
    )
    more = "records with keys go to other partitions if producers fail over: add partitions on the source"
    for topic, remote in pairs.items():
        here, there = source.get(topic), target.get(remote)
        if here is None or there is None:
            continue
        compared += 1
        if here != there:
            one = Difference(
                Kind.PARTITION_COUNT,
                topic,
                remote,
                "partitions",
                f"{here}",
                f"{there}",
                fewer if there < here else more,
            )
            (found if there < here else remarks).append(one)
    return Comparison(
        kind=Kind.PARTITION_COUNT,
        compared=compared,
        differences=tuple(found),
        remarks=tuple(remarks),
        note="" if compared else f"no replicated topic is on {flow.target}",
    )


def loops(flow: Flow, topology: Topology, pairs: Pairs) -> Comparison:
    """Return the topics whose records come back to the source under a name that they had there."""
    found: list[Difference] = []
    omitted: list[str] = []
    if _is_in_cycle(flow, topology):
        for topic, remote in pairs.items():
            try:
                found += _loops_of(flow, topology, topic, remote)
            except ValueError:  # too many paths
                omitted.append(topic)
    why = "too many paths over the flows of the configuration"
    return Comparison(
        kind=Kind.LOOP,
        compared=len(pairs) - len(omitted),
        differences=tuple(found),
        omissions=(Omission(why, tuple(omitted)),) if omitted else (),
    )


def _loops_of(flow: Flow, topology: Topology, topic: str, remote: str) -> Iterator[Difference]:
    for arrival in topology.reach(flow.source, topic):
        path = arrival.path
        if arrival.loops and path[1] == flow.target and arrival.cluster == flow.source:
            flows = count_text(len(path) - 1, "flow")
            advice = f"{flows} replicate its records round for ever: exclude the topic on one of them"
            yield Difference(Kind.LOOP, topic, remote, f"loop {'->'.join(path)}", None, None, advice)


def _is_in_cycle(flow: Flow, topology: Topology) -> bool:
    """Return whether flows lead from its target back to its source."""
    seen, waiting = {flow.target}, [flow.target]
    while waiting:
        for one in topology.out_of(waiting.pop()):
            if one.target not in seen:
                seen.add(one.target)
                waiting.append(one.target)
    return flow.source in seen
