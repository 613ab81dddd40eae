"""What is wrong with the topics of ours that are there already, and which brokers no probe reaches. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from canary.config import CanaryMode
from canary.site import control
from canary.site.topic_advice import Use, advise
from canary.site.topic_care import own_topic
from canary.watch.unreached import Side, UnreachedBroker, unreached_brokers

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from canary.flows import CanaryFlow
    from canary.site.topic_advice import Advice
    from mirrorwatch.check.clusters import ClusterLook
    from mirrorwatch.check.cost import SourceCost
    from mirrorwatch.configuration.configuration import Configuration


def advice(
    config: Configuration, looks: Mapping[str, ClusterLook], costs: Sequence[SourceCost]
) -> tuple[Advice, ...]:
    """Return what is wrong, by cluster; a topic whose settings were not told is judged by the rest."""
    found: list[Advice] = []
    by_source = {cost.source: cost for cost in costs}
    growing = config.canary.grow and config.canary.mode is CanaryMode.CREATE
    for alias, look in looks.items():
        flows = [flow for flow in config.canary_flows if not flow.off and alias in (flow.source, flow.target)]
        kept_s = max([config.canary.horizon, *(flow.threshold_s for flow in flows)])
        for name, topic in look.own.items():
            if topic is None or config.canary.mode is CanaryMode.OFF:
                continue
            probed = name == config.canary.topic and alias in by_source
            use = Use.CONTROL if name == control.TOPIC else Use.PROBES if probed else Use.COPIES
            own = own_topic(
                topic,
                alias,
                use,
                look.settings.get(name, {}),
                planned=by_source[alias].planned if probed and not growing else None,
                interval_s=costs[0].interval_s if costs else config.canary.interval,
                kept_s=kept_s,
                probed_as=config.canary.topic,
            )
            found += advise(own)
    return tuple(found)


def unchecked(looks: Mapping[str, ClusterLook]) -> tuple[str, ...]:
    """Return what could not be checked for want of a right, a sentence for each cluster."""
    return tuple(
        f"{look.alias} refuses to show topic settings: the DescribeConfigs permission is missing (check"
        f" --acls prints the commands). Not checked: {', '.join(look.unread)}."
        for look in looks.values()
        if look.unread
    )


def unreached(flow: CanaryFlow, looks: Mapping[str, ClusterLook]) -> tuple[UnreachedBroker, ...]:
    """Return the brokers through which no probe of a flow passes, of topics that are there."""
    found: tuple[UnreachedBroker, ...] = ()
    ends = ((Side.SOURCE, flow.source, flow.source_topic), (Side.TARGET, flow.target, flow.target_topic))
    for side, alias, name in ends:
        look = looks.get(alias)
        topic = look.own.get(name) if look is not None else None
        if look is not None and look.description is not None and topic is not None:
            found += unreached_brokers(alias, look.description.brokers, topic.leaders, side=side)
    return found
