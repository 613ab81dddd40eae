"""Problems of Mirrorwatch's existing topics, and brokers that probes do not reach. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from canary.config import CanaryMode
from canary.site import control
from canary.site.topic_advice import Use, advise
from canary.site.topic_checks import canary_topic
from canary.watch.unreached import Side, UnreachedBroker, unreached_brokers

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from canary.flows import CanaryFlow
    from canary.site.topic_advice import Advice
    from mirrorwatch.check.clusters import ClusterCheck
    from mirrorwatch.check.cost import SourceCost
    from mirrorwatch.configuration.configuration import Configuration


def advice(
    config: Configuration, results: Mapping[str, ClusterCheck], costs: Sequence[SourceCost]
) -> tuple[Advice, ...]:
    """Return the problems by cluster; if the settings of a topic are unknown, other facts are judged."""
    found: list[Advice] = []
    by_source = {cost.source: cost for cost in costs}
    growing = config.canary.grow and config.canary.mode is CanaryMode.CREATE
    for alias, result in results.items():
        flows = [flow for flow in config.canary_flows if not flow.off and alias in (flow.source, flow.target)]
        kept_s = max([config.canary.horizon, *(flow.threshold_s for flow in flows)])
        for name, topic in result.own.items():
            if topic is None or config.canary.mode is CanaryMode.OFF:
                continue
            probed = name == config.canary.topic and alias in by_source
            use = Use.CONTROL if name == control.TOPIC else Use.PROBES if probed else Use.COPIES
            own = canary_topic(
                topic,
                alias,
                use,
                result.settings.get(name, {}),
                planned=by_source[alias].planned if probed and not growing else None,
                interval_s=costs[0].interval_s if costs else config.canary.interval,
                kept_s=kept_s,
                probed_as=config.canary.topic,
            )
            found += advise(own)
    return tuple(found)


def unchecked(results: Mapping[str, ClusterCheck]) -> tuple[str, ...]:
    """Return what could not be checked without a permission, one sentence for each cluster."""
    return tuple(
        f"{result.alias} refuses to show topic settings: the DescribeConfigs permission is missing (check"
        f" --acls prints the commands). Not checked: {', '.join(result.unread)}."
        for result in results.values()
        if result.unread
    )


def unreached(flow: CanaryFlow, results: Mapping[str, ClusterCheck]) -> tuple[UnreachedBroker, ...]:
    """Return the brokers that no probe of a flow reaches."""
    found: tuple[UnreachedBroker, ...] = ()
    ends = ((Side.SOURCE, flow.source, flow.source_topic), (Side.TARGET, flow.target, flow.target_topic))
    for side, alias, name in ends:
        result = results.get(alias)
        topic = result.own.get(name) if result is not None else None
        if result is not None and result.description is not None and topic is not None:
            found += unreached_brokers(alias, result.description.brokers, topic.leaders, side=side)
    return found
