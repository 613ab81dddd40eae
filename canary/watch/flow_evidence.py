"""Evidence for a verdict on one flow, from the canary, its two sites and their control probes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from canary.site import topics
from canary.site.control import SLOW_S
from canary.site.topic_checks import HASTE_S
from fleet.verdicts.evidence import CanaryState, FlowEvidence, TopicEvidence

if TYPE_CHECKING:
    from canary.flows import WatchedFlow
    from canary.site.site import Site
    from canary.site.topic_checks import Refusal
    from canary.watch.watch import Instant

SLOW_LEAST_S = 0.3
_POLL_TAKES_S = 1.0  # at most, where the clusters answer


def settings_within_s(threshold_s: float) -> float:
    """Return the longest time until the settings of the target's topic are read for a waiting probe.

    A poll of the source finds a probe that has waited for half of its threshold. The next poll of the target
    reads the settings, unless they were read less than HASTE_S ago.
    """
    found_s = max(threshold_s / 2 + topics.INTERVAL_S, HASTE_S)
    return found_s + topics.INTERVAL_S + _POLL_TAKES_S


def flow_evidence(
    watched: WatchedFlow,
    source: Site,
    target: Site,
    now: Instant,
    *,
    state: CanaryState,
    sentence: str,
    refusal: Refusal | None = None,
    shared: bool = False,
) -> FlowEvidence:
    """Return the evidence for a verdict on this flow.

    `refusal` is why and when the target's topic refuses records. `shared`: other flows replicate to it too.
    """
    flow = watched.flow
    from_topic = source.topics.present.get(flow.source_topic)
    to_topic = target.topics.present.get(flow.target_topic)
    described = flow.target_topic in target.topics.present
    # Well before the threshold: a probe of the flow may have been due before the control probe was.
    slow_s = max(SLOW_LEAST_S, min(SLOW_S, flow.threshold_s / 4))
    return FlowEvidence(
        flow=flow.name,
        source=source.control.evidence(now_ns=now.ns, now_at=now.at, slow_s=slow_s),
        target=target.control.evidence(now_ns=now.ns, now_at=now.at, slow_s=slow_s),
        canary=watched.watch.evidence(now, state=state, sentence=sentence),
        topic=TopicEvidence(
            source_topic=flow.source_topic,
            target_topic=flow.target_topic,
            target_exists=to_topic is not None if described else None,
            source_partitions=from_topic.partitions if from_topic else None,
            target_partitions=to_topic.partitions if to_topic else None,
            source_recreated_at=source.topics.recreated_recently(flow.source_topic, now.at),
            target_recreated_at=target.topics.recreated_recently(flow.target_topic, now.at),
            target_refuses=refusal.sentence if refusal is not None else "",
            target_refused_at=refusal.seen_at if refusal is not None else None,
            target_refused_since=refusal.since_at if refusal is not None else None,
            settings_within_s=settings_within_s(flow.threshold_s),
            shared=shared,
        ),
        exactly_once=flow.exactly_once,
        tasks=target.mirror_topics.tasks(flow.name),
        heartbeats_s=target.mirror_topics.heartbeats_s(flow.name, now.ns),
    )
