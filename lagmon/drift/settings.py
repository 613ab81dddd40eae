"""Configurations of replicated topics, as far as the mirror keeps them the same. Pure.

A property counts if the topic itself has it on one side at least, or if the mirror sets it on the target. If
neither side has it, the broker defaults decide: these are compared once for the two clusters. A property that
one of the clusters does not know counts only if a topic of the other one has it.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from fleet.mm2.topic_sync import SOURCE_DEFAULTS
from fleet.quantity import duration_text
from fleet.topic_settings import Origin, Settings
from lagmon.drift.differences import Comparison, Difference, Kind, Omission

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from fleet.topic_settings import Setting
    from fleet.verdicts.flow import Flow

Described = Settings | str  # a sentence: why they could not be read
_BROKER_DEFAULT = (
    "the default of the brokers, which topics without a value of their own use: set it alike on both clusters"
)


def topic_settings(
    flow: Flow,
    pairs: Mapping[str, str],
    source: Mapping[str, Described],
    target: Mapping[str, Described],
) -> Comparison:
    """Return which configurations differ; `pairs` are topics on both sides, each with its target.

    A topic without settings on one side was deleted meanwhile and is left out.
    """
    if (why := not_compared(flow)) is not None:
        return Comparison(kind=Kind.CONFIG, compared=0, omissions=(Omission(why),))
    rules = _Rules(flow)
    found: list[Difference] = []
    defaults: dict[Difference, None] = {}
    unread: dict[str, list[str]] = {}
    compared = 0
    for topic, remote in pairs.items():
        here, there = source.get(topic), target.get(remote)
        if here is None or there is None:
            continue
        if isinstance(here, str) or isinstance(there, str):
            why = "; ".join(one for one in (here, there) if isinstance(one, str))
            unread.setdefault(why, []).append(topic)
            continue
        compared += 1
        if here == there:
            continue
        for one in rules.differences(topic, remote, here, there):
            if one.subject:
                found.append(one)
            else:
                defaults[one] = None
    return Comparison(
        kind=Kind.CONFIG,
        compared=compared,
        differences=(*defaults, *found),
        omissions=tuple(Omission(why, tuple(topics)) for why, topics in unread.items()),
        note="" if compared or unread else f"no replicated topic is on {flow.target}",
    )


def not_compared(flow: Flow) -> str | None:
    """Return why the configurations of a flow are not compared; None if they are."""
    sync = flow.topic_sync
    if sync.configs_interval_s is None:
        return "the mirror does not sync them (sync.topic.configs.enabled is false)"
    if sync.unknown:
        return f"the properties that the mirror excludes are not known: {sync.unknown}"
    return None


class _Rules:
    """The rules of one flow."""

    def __init__(self, flow: Flow) -> None:
        sync = flow.topic_sync
        self._of_source = sync.defaults_from == SOURCE_DEFAULTS
        self._every = f"every {duration_text(sync.configs_interval_s or 0)}"
        self._excludes: Callable[[str], bool] = cache(lambda name: sync.excludes(name, flow.mirror_version))

    def differences(self, topic: str, remote: str, here: Settings, there: Settings) -> Iterator[Difference]:
        """Yield what differs; without a subject if it is a default of the brokers."""
        for name in here if here.keys() == there.keys() else sorted(here.keys() | there.keys()):
            one, other = here.get(name), there.get(name)
            if one == other or self._excludes(name) or (one and other and one.value == other.value):
                continue
            advice = self._advice(one, other)
            if advice is None:
                continue
            subject = "" if advice is _BROKER_DEFAULT else topic
            yield Difference(
                Kind.CONFIG,
                subject,
                remote if subject else "",
                name,
                None if one is None else one.value,
                None if other is None else other.value,
                advice,
            )

    def _advice(self, here: Setting | None, there: Setting | None) -> str | None:
        """Return what to do about two settings that differ; None if there is no difference that counts."""
        on_source, on_target = (one is not None and one.origin is Origin.TOPIC for one in (here, there))
        if here is None or there is None:
            if not (on_source or on_target):
                return None
            side = "source" if here is None else "target"
            return f"the version of the {side} does not know the property: remove it from the topic"
        if self._is_set(here):
            return (
                f"the mirror sets it on the target ({self._every}): if it stays different, check the mirror's"
                " log and its permission AlterConfigs on the target"
            )
        if not on_target:
            return _BROKER_DEFAULT
        if here.origin is Origin.STATIC:
            return (
                "the mirror leaves it alone, because the source has it in server.properties: set it on the"
                " topic of the source, or remove it on the target"
            )
        return (
            f"the mirror removes it on the target ({self._every}): if it stays different, check the mirror's"
            " log and its permission AlterConfigs on the target"
        )

    def _is_set(self, here: Setting) -> bool:
        """Return whether the mirror sets the value of the source on the target."""
        if here.origin is Origin.DEFAULT:
            return self._of_source
        return here.origin is not Origin.STATIC
