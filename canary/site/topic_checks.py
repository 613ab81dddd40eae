"""Compares the topics with the plan: partitions, rate, brokers that no probe reaches, settings.

A problem is reported until it is gone. Settings are read at the start, every five minutes, and when a topic
changes its id or partitions.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from canary.config import CanaryMode
from canary.site import control
from canary.site.record_sizes import control_probe_bytes, largest_probe_bytes
from canary.site.topic_advice import CanaryTopic, Use, advise
from canary.tracker.plan import CONTROL_SETTINGS, PROBES_SETTINGS, even_interval_s, partitions_for
from canary.watch.unreached import Side, UnreachedBroker, unreached_brokers
from fleet.errors import MirrorwatchError, RefusedError
from fleet.quantity import duration_text
from runtime.kafka.admin import NewTopicRequest

if TYPE_CHECKING:
    from collections.abc import Mapping

    from canary.flows import CanaryFlow
    from canary.report import Reporter
    from canary.roster import Roster
    from canary.site.site import Site
    from runtime.kafka.admin import TopicDescription
    from runtime.process.clock import WaitingClock

SETTINGS_S = 300.0  # interval between reads of a topic's settings
HASTE_S = 4.0  # the same while probes wait
AGAIN_S = 30.0  # retry after an error, or for a missing topic
BROKERS_S = 60.0  # interval between reads of the brokers
PLANNING_S = 10.0  # how long the creation of a topic waits for the targets' brokers
RATE = "canary.max_rate"


class Refusal(NamedTuple):
    """Why a topic refuses records, or empty; with the first and last time (epoch s)."""

    sentence: str
    since_at: float
    seen_at: float


@dataclass(slots=True)
class _Check:
    """When the settings of a topic are read again, unless it changes."""

    as_it_was: tuple[str, int, int | None] | None  # id, partitions, and those that are planned
    again_ns: int
    read_ns: int = 0


class TopicChecks:
    """Computes planned partitions and interval, and reports topics that differ."""

    def __init__(self, roster: Roster, *, clock: WaitingClock, reporter: Reporter) -> None:
        self._roster = roster
        self._clock = clock
        self._reporter = reporter
        self._checks: dict[tuple[str, str], _Check] = {}
        self.refusals: dict[tuple[str, str], Refusal] = {}  # by cluster and topic
        self._told: dict[tuple[str, str], str] = {}  # by cluster and topic: reported errors
        self._brokers_ns: dict[str, int] = {}  # when each cluster's brokers are read again
        self._planning_ns: dict[str, int] = {}  # since when the creation of a topic waits
        roster.self_check.on_clock_set.append(self._move_instants)

    # --- the plan

    def partitions(self, alias: str) -> int:
        """Return the planned partitions of this source's canary topic; unknown brokers count as 1."""
        flows = self._leaving(alias)
        sites = self._roster.sites
        return partitions_for(
            source_brokers=sites[alias].brokers,
            target_brokers=max((sites[flow.target].brokers for flow in flows), default=1),
            tasks_max=max((flow.tasks_max for flow in flows), default=1),
            at_most=self._roster.config.max_partitions,
        )

    def request(self, alias: str) -> NewTopicRequest:
        """Return this source's canary topic as it is to be created."""
        config = self._roster.config
        factor = config.replication_factor or -1
        return NewTopicRequest(config.topic, self.partitions(alias), PROBES_SETTINGS, factor)

    def waits_for(self, alias: str) -> str:
        """Return why the creation of this source's topic waits, or an empty text."""
        now_ns = self._clock.monotonic_ns()
        since_ns = self._planning_ns.setdefault(alias, now_ns)
        if self._planned(alias) is not None or now_ns - since_ns >= PLANNING_S * 1e9:
            return ""
        return "no target cluster has answered yet, and the number of partitions depends on its brokers"

    def interval_s(self) -> float:
        """Return the interval of each partition that keeps the total within max_rate."""
        config = self._roster.config
        return even_interval_s(config.interval, partitions=self._probed(), max_rate=config.max_rate)

    def unreached(self, flow: CanaryFlow) -> tuple[UnreachedBroker, ...]:
        """Return the brokers of both clusters that no probe of this flow passes through.

        A cluster whose topic is missing or unknown is left out.
        """
        ends = ((Side.SOURCE, flow.source, flow.source_topic), (Side.TARGET, flow.target, flow.target_topic))
        found: tuple[UnreachedBroker, ...] = ()
        for side, alias, name in ends if not flow.off else ():
            site = self._roster.sites[alias]
            present = site.topics.present.get(name)
            if present is not None and site.description is not None:
                found += unreached_brokers(alias, site.description.brokers, present.leaders, side=side)
        return found

    # --- checks

    def hasten(self, alias: str, topic: str) -> None:
        """Read the settings of a topic soon, because probes wait for it."""
        check = self._checks.get((alias, topic))
        if check is not None:
            check.again_ns = min(check.again_ns, check.read_ns + int(HASTE_S * 1e9))

    async def check(self, site: Site) -> None:
        """Do the due checks on one cluster; ignores MirrorwatchErrors, since the next check retries."""
        now_ns = self._clock.monotonic_ns()
        due_ns = self._brokers_ns.setdefault(site.alias, now_ns + int(BROKERS_S * 1e9))
        try:
            if due_ns <= now_ns:
                self._brokers_ns[site.alias] = now_ns + int(BROKERS_S * 1e9)
                await site.read_brokers()
            if self._roster.config.mode is not CanaryMode.OFF and self._due(
                site.alias, control.TOPIC, now_ns
            ):
                await self._check_control(site)
        except MirrorwatchError:
            pass  # retried; the control probes and the tap report a fault of the cluster
        self._report_rate()
        names = {name: site.topics.present.get(name) for name in site.wanted}
        here = {name: topic for name, topic in names.items() if topic is not None}
        due = [topic for topic in here.values() if self._due(site.alias, topic.name, now_ns, topic)]
        await asyncio.gather(*(self._check_topic(site, topic) for topic in due))
        self._forget(site.alias, here.keys() | {control.TOPIC})

    async def _check_control(self, site: Site) -> None:
        name = control.TOPIC
        self._checks[site.alias, name] = _Check(None, self._in(AGAIN_S))
        topic = (await site.admin.describe_topics([name]))[name]
        if topic is not None:
            self._checks[site.alias, name] = _Check(None, self._in(SETTINGS_S))
            await self._judge(site, topic, Use.CONTROL)

    async def _check_topic(self, site: Site, topic: TopicDescription) -> None:
        ours = self._is_source(site.alias, topic.name)
        planned = self._planned(site.alias) if ours else None
        self._checks[site.alias, topic.name] = _Check(
            (topic.topic_id, topic.partitions, planned), self._in(SETTINGS_S), self._in(0)
        )
        if planned is not None and topic.partitions < planned and self._may_grow:
            await self._grow(site, topic, planned)
            planned = None  # it has as many soon, or the error is reported
        else:
            self._reporter.settled(_growing(site.alias, topic.name))  # the user may have done it
        await self._judge(site, topic, Use.PROBES if ours else Use.COPIES, planned)

    @property
    def _may_grow(self) -> bool:
        return self._roster.config.grow and self._roster.config.mode is CanaryMode.CREATE

    async def _grow(self, site: Site, topic: TopicDescription, planned: int) -> None:
        where = _growing(site.alias, topic.name)
        try:
            await site.admin.grow_topic(topic.name, planned)
        except MirrorwatchError as error:
            number = "1 partition" if topic.partitions == 1 else f"{topic.partitions} partitions"
            self._reporter.problem(where, f"{error}. The canary uses {number} meanwhile")
            return
        self._reporter.settled(where)
        self._reporter.event(
            "partitions were added", kafka_cluster=site.alias, topic=topic.name, partitions=planned
        )

    async def _judge(self, site: Site, topic: TopicDescription, use: Use, planned: int | None = None) -> None:
        """Read a topic's settings and report what is wrong."""
        key = (site.alias, topic.name)
        try:
            settings: Mapping[str, str] = await site.admin.describe_topic_config(topic.name)
        except MirrorwatchError as error:
            if not isinstance(error, RefusedError):
                self._checks[key].again_ns = self._in(AGAIN_S)
                return
            self._report_unchecked(key, error)
            settings = {}
        else:
            self._told.pop(key, None)
        said = advise(
            canary_topic(
                topic,
                site.alias,
                use,
                settings,
                planned=planned,
                interval_s=self.interval_s(),
                kept_s=self._kept_s(site.alias),
                probed_as=self._roster.config.topic,
            )
        )
        where = _where(*key)
        refusing = " ".join(advice.sentence for advice in said if advice.refuses)
        before = self.refusals.get(key)
        if refusing:
            now_at = self._clock.wall_s()
            since_at = before.since_at if before is not None and before.sentence else now_at
            self.refusals[key] = Refusal(refusing, since_at, now_at)
        elif before is not None:
            self.refusals[key] = before._replace(sentence="")
        if said:
            self._reporter.problem(where, " ".join(advice.sentence for advice in said))
        else:
            self._reporter.settled(where)

    # --- reports

    def _report_rate(self) -> None:
        config, interval_s = self._roster.config, self.interval_s()
        if interval_s > config.interval:
            sentence = rate_sentence(config.interval, config.max_rate, interval_s, self._probed())
            self._reporter.problem(RATE, sentence)
        else:
            self._reporter.settled(RATE)

    def _report_unchecked(self, key: tuple[str, str], error: RefusedError) -> None:
        if self._told.get(key) != str(error):
            self._told[key] = str(error)
            alias, topic = key
            self._reporter.event(
                "cannot check the settings of a topic", kafka_cluster=alias, topic=topic, why=str(error)
            )

    # --- what is due

    def _due(self, alias: str, name: str, now_ns: int, topic: TopicDescription | None = None) -> bool:
        check = self._checks.get((alias, name))
        if check is None or check.again_ns <= now_ns:
            return True
        if topic is None:
            return False
        planned = self._planned(alias) if self._is_source(alias, name) else None
        return check.as_it_was != (topic.topic_id, topic.partitions, planned)

    def _in(self, seconds: float) -> int:
        return self._clock.monotonic_ns() + int(seconds * 1e9)

    def _is_source(self, alias: str, name: str) -> bool:
        return name == self._roster.config.topic and alias in self._roster.probings

    def _probed(self) -> int:
        """Return the partitions that are or will be probed, over all sources."""
        total = 0
        for alias in self._roster.probings:
            present = self._roster.sites[alias].topics.present.get(self._roster.config.topic)
            total += self.partitions(alias) if present is None else present.partitions
        return total

    def _forget(self, alias: str, here: set[str]) -> None:
        """Forget topics that were deleted or removed."""
        for key in [key for key in self._checks if key[0] == alias and key[1] not in here]:
            del self._checks[key]
            self.refusals.pop(key, None)
            self._told.pop(key, None)
            self._reporter.settled(_where(*key))
            self._reporter.settled(_growing(*key))

    def _move_instants(self, by_s: float) -> None:
        """Move stored instants after the wall clock was set by this many seconds."""
        for key, one in self.refusals.items():
            self.refusals[key] = Refusal(one.sentence, one.since_at + by_s, one.seen_at + by_s)

    def _planned(self, alias: str) -> int | None:
        """Return the planned partitions of a source, None until every cluster's brokers are known."""
        sites = self._roster.sites
        asked = {alias, *(flow.target for flow in self._leaving(alias))}
        known = all(sites[one].description is not None for one in asked if one in sites)
        return self.partitions(alias) if known else None

    def _kept_s(self, alias: str) -> float:
        flows = [watched.flow for watched in self._roster.dispatch.running.values()]
        thresholds = [flow.threshold_s for flow in flows if alias in (flow.source, flow.target)]
        return max([self._roster.config.horizon, *thresholds])

    def _leaving(self, alias: str) -> list[CanaryFlow]:
        return [watched.flow for watched in self._roster.dispatch.by_source.get(alias, ())]


def canary_topic(
    topic: TopicDescription,
    alias: str,
    use: Use,
    settings: Mapping[str, str],
    *,
    planned: int | None,
    interval_s: float,
    kept_s: float,
    probed_as: str,
) -> CanaryTopic:
    """Return a topic with what it must hold; interval and retention are the canary's.

    `probed_as` is the name of the canary's topic, which every probe contains.
    """
    probe_bytes = largest_probe_bytes(probed_as, max(topic.partitions, 1))
    controls = use is Use.CONTROL
    return CanaryTopic(
        name=topic.name,
        kafka_cluster=alias,
        use=use,
        settings=settings,
        wished=CONTROL_SETTINGS if controls else PROBES_SETTINGS,
        partitions=topic.partitions,
        replicas=min(topic.replicas, default=None),
        planned=planned,
        record_bytes=control_probe_bytes() if controls else probe_bytes,
        interval_s=control.INTERVAL_S if controls else interval_s,
        kept_s=2 * control.TIMEOUT_S if controls else kept_s,
    )


def rate_sentence(wished_s: float, max_rate: int, interval_s: float, partitions: int) -> str:
    """Return why the interval is longer than configured."""
    counted = "1 probe" if max_rate == 1 else f"{max_rate} probes"
    return (
        f"canary.interval is raised to {duration_text(interval_s)}: {partitions} partitions every"
        f" {duration_text(wished_s)} are more than {counted} a second (canary.max_rate). Raise"
        " canary.max_rate or canary.interval, or lower canary.max_partitions"
    )


def _growing(alias: str, topic: str) -> str:
    return f"{alias}: growing {topic}"


def _where(alias: str, topic: str) -> str:
    return f"{alias}: settings of {topic}"
