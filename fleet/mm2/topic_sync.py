"""What MirrorMaker keeps the same on both sides of a replicated topic: its configuration and its ACLs.

Source: MirrorSourceConnector and DefaultConfigPropertyFilter of Kafka 3.9.2 and 4.3.0. For each property
that is not excluded, MirrorMaker sets the value of the source on the target's topic if it is the topic's own
or comes from the dynamic configuration of a broker. If it is Kafka's default, MirrorMaker removes the
property from the target's topic, or with `use.defaults.from=source` sets it. It leaves what is set in
server.properties.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from fleet.mm2.filters import PatternList
from fleet.mm2.handling import resolved_text
from fleet.mm2.replication import NEWEST_KNOWN, OLDEST_KNOWN, major_version

if TYPE_CHECKING:
    from fleet.mm2.values import Values

_INTERVAL_S = 600.0
_FILTER = "org.apache.kafka.connect.mirror.DefaultConfigPropertyFilter"
SOURCE_DEFAULTS, TARGET_DEFAULTS = "source", "target"
CONFIG_EXCLUDE = {
    OLDEST_KNOWN: (
        r"follower\.replication\.throttled\.replicas, leader\.replication\.throttled\.replicas,"
        r" message\.timestamp\.difference\.max\.ms, message\.timestamp\.type,"
        r" unclean\.leader\.election\.enable, min\.insync\.replicas"
    ),
    # The two with `log.` are properties of a broker: they match no property of a topic.
    NEWEST_KNOWN: (
        "follower.replication.throttled.replicas, leader.replication.throttled.replicas,"
        " message.timestamp.difference.max.ms, log.message.timestamp.before.max.ms,"
        " log.message.timestamp.after.max.ms, message.timestamp.type,"
        " unclean.leader.election.enable, min.insync.replicas"
    ),
}


@dataclass(frozen=True, slots=True)
class TopicSync:
    """Settings of a mirror; the defaults are MirrorMaker's.

    `configs_interval_s` and `acls_interval_s` are None if the mirror does not sync them. `exclude` is
    `config.properties.exclude`, None for MirrorMaker's default. `unknown` is why it is not known which
    properties the mirror excludes. Raises ValueError with a sentence if `exclude` is invalid.
    """

    configs_interval_s: float | None = _INTERVAL_S
    acls_interval_s: float | None = _INTERVAL_S
    exclude: str | None = None
    defaults_from: str = TARGET_DEFAULTS
    unknown: str = ""
    _excludes: tuple[PatternList, PatternList] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        texts = (self.exclude, self.exclude) if self.exclude is not None else tuple(CONFIG_EXCLUDE.values())
        older, newer = (PatternList(text) for text in texts)
        object.__setattr__(self, "_excludes", (older, newer))

    def excludes(self, name: str, mirror_version: str | None) -> bool:
        """Return whether the mirror leaves this property of a topic alone.

        An unknown version counts as the newest.
        """
        older = mirror_version is not None and major_version(mirror_version) == OLDEST_KNOWN
        return self._excludes[not older].matches(name)


def topic_sync_of(values: Values, major: int | None) -> TopicSync:
    """Return the settings of a connector; a value that cannot be used is unknown, not a problem."""
    found = TopicSync(
        configs_interval_s=_interval_s(values, "sync.topic.configs"),
        acls_interval_s=_interval_s(values, "sync.topic.acls"),
        defaults_from=resolved_text(values, "use.defaults.from", "") or TARGET_DEFAULTS,
    )
    named = resolved_text(values, "config.property.filter.class", _FILTER)
    if named != _FILTER:
        return replace(found, unknown="config.property.filter.class is not MirrorMaker's default")
    older = () if major == NEWEST_KNOWN else ("config.properties.blacklist",)
    key = next((one for one in ("config.properties.exclude", *older) if one in values.properties), None)
    if key is None:
        return found
    text = resolved_text(values, key, "")
    if text is None:
        return replace(found, unknown=f"{key} has a variable that only the mirror can resolve")
    try:
        return replace(found, exclude=text)
    except ValueError as error:
        return replace(found, unknown=f"{key}: {error}")


def _interval_s(values: Values, what: str) -> float | None:
    """Return an interval; None if syncing is off."""
    enabled = resolved_text(values, f"{what}.enabled", "true") or "true"
    text = resolved_text(values, f"{what}.interval.seconds", "") or ""
    interval_s = float(text) if text.removeprefix("-").isdecimal() else _INTERVAL_S
    return interval_s if enabled.lower() == "true" and interval_s >= 0 else None
