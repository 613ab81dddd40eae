"""Topics of a source by what the flow does with them: mirrored or not, grouped by rule. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from canary.site.control import TOPIC as CONTROL_TOPIC

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fleet.topology import Topology
    from fleet.verdicts.flow import Decision, Flow

KAFKAS_OWN = frozenset(
    {
        "__cluster_metadata",
        "__consumer_offsets",
        "__remote_log_metadata",
        "__share_group_state",
        "__transaction_state",
    }
)


class Undue(NamedTuple):
    """A topic that is never mirrored, or only by some versions, with the rule and a sentence."""

    topic: str
    rule: str
    sentence: str


@dataclass(frozen=True, slots=True)
class Mirrored:
    """The topics of one flow's source, each in exactly one group.

    `replicated` are (name on the source, name on the target); `absent` those that the target does not have
    yet, None if unknown. `filtered` are topics by reason. `own` counts topics of Kafka and MirrorMaker,
    `from_target` those replicated from the target, which never go back. `traps` are
    never mirrored, whatever the filter; `unsure` depend on MirrorMaker's version.
    """

    flow: Flow
    topics: int
    replicated: tuple[tuple[str, str], ...]
    absent: tuple[tuple[str, str], ...] | None
    filtered: tuple[tuple[str, tuple[str, ...]], ...]
    own: int
    from_target: int
    traps: tuple[Undue, ...]
    unsure: tuple[Undue, ...]


def sort_out(
    flow: Flow,
    topology: Topology,
    topics: Mapping[str, Sequence[str]],
) -> Mirrored:
    """Group the source's topics; `topics` are the known topics of each cluster."""
    here = topics[flow.source]
    on_target = frozenset(topics[flow.target]) if flow.target in topics else None
    known = {alias: frozenset(names) for alias, names in topics.items()}
    replicated: list[tuple[str, str]] = []
    filtered: dict[str, list[str]] = {}
    traps: list[Undue] = []
    unsure: list[Undue] = []
    own = from_target = 0
    for topic in here:
        decision = flow.decide(topic)
        match decision.rule:
            case "filtered":
                filtered.setdefault(_reason(flow, topic, decision), []).append(topic)
            case "version_unknown" if is_own(flow, topic):
                own += 1
            case "version_unknown":
                unsure.append(Undue(topic, decision.rule, decision.sentence))
            case "internal" if is_own(flow, topic):
                own += 1
            case "internal":
                traps.append(Undue(topic, decision.rule, decision.sentence))
            case "cycle":
                why = _not_replicated(flow, topology, topic, known)
                if why is None:
                    from_target += 1
                else:
                    traps.append(Undue(topic, decision.rule, f"{decision.sentence} {why}"))
            case _:
                replicated.append((topic, str(decision.remote_topic)))
    absent = None if on_target is None else tuple(pair for pair in replicated if pair[1] not in on_target)
    return Mirrored(
        flow=flow,
        topics=len(here),
        replicated=tuple(replicated),
        absent=absent,
        filtered=tuple((why, tuple(names)) for why, names in filtered.items()),
        own=own,
        from_target=from_target,
        traps=tuple(traps),
        unsure=tuple(unsure),
    )


def is_own(flow: Flow, topic: str) -> bool:
    """Return whether a topic belongs to Kafka, MirrorMaker or Mirrorwatch."""
    if topic in KAFKAS_OWN or topic == CONTROL_TOPIC:
        return True
    ends = (f"{flow.policy.separator}internal", ".internal")
    return (topic.startswith("mm2-") and topic.endswith(ends)) or flow.policy.is_checkpoints(topic)


def _reason(flow: Flow, topic: str, decision: Decision) -> str:
    """Return the filter rule alone, which is the heading of the topics that it excludes."""
    _, _, why = decision.sentence.removesuffix(".").partition(f"{flow.name} because ")
    return why or flow.topic_filter.why(topic)


def _not_replicated(
    flow: Flow, topology: Topology, topic: str, known: Mapping[str, frozenset[str]]
) -> str | None:
    """Return why a topic with the name of a replicated topic is not one; None if it is one or may be.

    Its name starts with a cluster, so a flow must replicate it from there.
    """
    source, upstream = str(flow.policy.topic_source(topic)), str(flow.policy.upstream_topic(topic))
    brought = [
        back
        for back in topology.into(flow.source)
        if back.named_source == source and back.remote_topic(upstream) == topic
    ]
    if not brought:
        return f"No flow replicates it from {source}; rename it if you want it mirrored."
    source = brought[0].source
    if source in known and upstream not in known[source]:
        return f"{source} has no topic {upstream}; rename it if it was not replicated from {source}."
    if not any(back.decide(upstream).replicated for back in brought):
        return (
            f"{brought[0].name} does not mirror {upstream}; rename it if it was not replicated from {source}."
        )
    return None
