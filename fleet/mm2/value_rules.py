"""Values that MirrorMaker accepts for its keys; with others it, or this flow, does not start.

Taken from the real definitions (MirrorMakerConfig, DistributedConfig, the three connectors' configurations)
of Kafka 3.9.2 and 4.3.0; a test compares this with their answers in tests/fleet/golden. Not checked
are classes, which only its class path has, and the addresses and algorithms of workers.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from fleet.mm2.filters import split_list

JAVA_BLANKS = "".join(chr(point) for point in range(33))  # what Java's String.trim removes
_BITS = {"short": 16, "int": 32, "long": 64}
_DOUBLE = re.compile(r"[-+]?(NaN|Infinity|([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?[fFdD]?)")
_STRICT_LISTS = (4, 3)  # the first version that is known to refuse an empty entry


@dataclass(frozen=True, slots=True)
class Whole:
    """A whole number of Java's type `short`, `int` or `long`; `besides` is accepted below the minimum."""

    type: str
    least: int | None = None
    most: int | None = None
    besides: int | None = None

    def fault(self, text: str) -> str | None:
        """Return what is wrong with a value, or None."""
        half = 1 << (_BITS[self.type] - 1)
        if not re.fullmatch(r"[-+]?[0-9]{1,40}", text) or not -half <= int(text) < half:
            return "must be a whole number; write digits only, without a unit"
        return None if int(text) == self.besides else _outside(int(text), self.least, self.most)


@dataclass(frozen=True, slots=True)
class Fraction:
    """A number with decimal places."""

    least: float | None = None
    most: float | None = None

    def fault(self, text: str) -> str | None:
        """Return what is wrong with a value, or None."""
        if not _DOUBLE.fullmatch(text):
            return "must be a number, for example 0.8"
        return _outside(float(text.rstrip("fFdD") or "nan"), self.least, self.most)


@dataclass(frozen=True, slots=True)
class Choice:
    """One of some words; in any case if `any_case`."""

    words: tuple[str, ...]
    any_case: bool = False

    def fault(self, text: str) -> str | None:
        """Return what is wrong with a value, or None."""
        found = text.casefold() if self.any_case else text
        return None if found in self.words else f"must be {', '.join(self.words[:-1])} or {self.words[-1]}"


@dataclass(frozen=True, slots=True)
class Items:
    """A list with commas, of `words` only if there are any; `strict`: it must not be blank."""

    words: tuple[str, ...] = ()
    strict: bool = False

    def fault(self, text: str) -> str | None:
        """Return what is wrong with a value for the versions that check lists, or None."""
        items = split_list(text)
        if not items and self.strict:
            return "must not be empty"
        if not all(items):
            return "has an empty entry between two commas, which MirrorMaker refuses from 4.3 on; remove it"
        unknown = [item for item in items if self.words and item not in self.words]
        return f"must be a list of {' and '.join(self.words)}" if unknown else None


@dataclass(frozen=True, slots=True)
class Filled:
    """Any text that is not blank."""

    def fault(self, text: str) -> str | None:
        """Return what is wrong with a value, or None."""
        return None if text else "must not be empty"


_Rule = Whole | Fraction | Choice | Items | Filled
_BOOLEAN = Choice(("true", "false"), any_case=True)


def _rules() -> dict[str, _Rule]:
    found: dict[str, _Rule] = {}
    for rule, names in _TABLE:
        found |= dict.fromkeys(names.split(), rule)
    return found


_TABLE: tuple[tuple[_Rule, str], ...] = (
    (
        _BOOLEAN,
        """add.source.alias.to.metrics auto.include.jmx.reporter dedicated.mode.enable.internal.rest
        emit.checkpoints.enabled emit.heartbeats.enabled emit.offset-syncs.enabled enabled
        errors.log.enable errors.log.include.messages heartbeats.replication.enabled
        refresh.groups.enabled refresh.topics.enabled
        replication.policy.internal.topic.separator.enabled sasl.oauthbearer.assertion.claim.jti.include
        sasl.oauthbearer.header.urlencode sync.group.offsets.enabled sync.topic.acls.enabled
        sync.topic.configs.enabled tasks.max.enforce topic.creation.enable topic.tracking.allow.reset
        topic.tracking.enable""",
    ),
    (
        Whole("long"),
        """admin.timeout.ms connections.max.idle.ms consumer.poll.timeout.ms
        emit.checkpoints.interval.seconds emit.heartbeats.interval.seconds errors.retry.delay.max.ms
        errors.retry.timeout offset.flush.interval.ms offset.flush.timeout.ms offset.lag.max
        refresh.groups.interval.seconds refresh.topics.interval.seconds
        sasl.kerberos.min.time.before.relogin sasl.login.retry.backoff.max.ms
        sasl.login.retry.backoff.ms sasl.oauthbearer.jwks.endpoint.refresh.ms
        sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms
        sasl.oauthbearer.jwks.endpoint.retry.backoff.ms sync.group.offsets.interval.seconds
        sync.topic.acls.interval.seconds sync.topic.configs.interval.seconds
        task.shutdown.graceful.timeout.ms""",
    ),
    (
        Whole("long", 0),
        """metadata.max.age.ms metadata.recovery.rebootstrap.trigger.ms metrics.sample.window.ms
        reconnect.backoff.max.ms reconnect.backoff.ms retry.backoff.max.ms retry.backoff.ms
        socket.connection.setup.timeout.max.ms socket.connection.setup.timeout.ms""",
    ),
    (
        Whole("int"),
        """heartbeat.interval.ms inter.worker.key.size rebalance.timeout.ms replication.factor
        rest.advertised.port sasl.login.connect.timeout.ms sasl.login.read.timeout.ms
        sasl.oauthbearer.clock.skew.seconds session.timeout.ms worker.sync.timeout.ms
        worker.unsync.backoff.ms""",
    ),
    (Whole("int", 0), "inter.worker.key.ttl.ms scheduled.rebalance.max.delay.ms request.timeout.ms"),
    (Whole("int", 1), "metrics.num.samples tasks.max"),
    (Whole("int", -1), "receive.buffer.bytes send.buffer.bytes"),
    (Whole("int", 1, besides=-1), "offset.storage.partitions status.storage.partitions"),
    (Whole("int", 0, 3600), "sasl.oauthbearer.assertion.claim.nbf.seconds"),
    (Whole("int", 0, 86400), "sasl.oauthbearer.assertion.claim.exp.seconds"),
    (
        Whole("short"),
        """checkpoints.topic.replication.factor heartbeats.topic.replication.factor
        offset-syncs.topic.replication.factor""",
    ),
    (
        Whole("short", 1, besides=-1),
        """config.storage.replication.factor offset.storage.replication.factor
        status.storage.replication.factor""",
    ),
    (Whole("short", 0, 3600), "sasl.login.refresh.buffer.seconds"),
    (Whole("short", 0, 900), "sasl.login.refresh.min.period.seconds"),
    (Fraction(), "sasl.kerberos.ticket.renew.jitter sasl.kerberos.ticket.renew.window.factor"),
    (Fraction(0.5, 1.0), "sasl.login.refresh.window.factor"),
    (Fraction(0.0, 0.25), "sasl.login.refresh.window.jitter"),
    (Choice(("disabled", "enabled", "preparing"), any_case=True), "exactly.once.source.support"),
    (Choice(("es256", "rs256"), any_case=True), "sasl.oauthbearer.assertion.algorithm"),
    (Choice(("rebootstrap", "none"), any_case=True), "metadata.recovery.strategy"),
    (
        Choice(("only_scan", "service_load", "hybrid_warn", "hybrid_fail"), any_case=True),
        "plugin.discovery",
    ),
    (Choice(("plaintext", "ssl", "sasl_plaintext", "sasl_ssl"), any_case=True), "security.protocol"),
    (Choice(("eager", "compatible", "sessioned")), "connect.protocol"),
    (Choice(("INFO", "DEBUG")), "metrics.recording.level"),
    (Choice(("none", "all")), "errors.tolerance"),
    (Choice(("none", "restart")), "config.action.reload"),
    (Choice(("requested", "required", "never")), "use.incremental.alter.configs"),
    (Choice(("required", "requested", "none")), "ssl.client.auth"),
    (Choice(("source", "target")), "offset-syncs.topic.location"),
    (Choice(("use_all_dns_ips", "resolve_canonical_bootstrap_servers_only")), "client.dns.lookup"),
    (
        Items(),
        """clusters config.properties.exclude config.providers groups groups.exclude metric.reporters
        rest.extension.classes sasl.oauthbearer.expected.audience ssl.cipher.suites
        ssl.enabled.protocols topics topics.exclude admin.listeners""",
    ),
    (Items(strict=True), "bootstrap.servers plugin.path"),
    (Items(("legacy", "new"), strict=True), "metric.names.formats"),
    (Filled(), "name"),
)
_RULES = _rules()


def fault_of(key: str, value: str, mirror_version: str | None) -> str | None:
    """Return what is wrong with a value, as a clause about its key; None if MirrorMaker accepts it.

    Earlier versions accept an empty entry in a list.
    """
    rule = _RULES.get(key)
    if rule is None or (isinstance(rule, Items) and not _is_strict_on_lists(mirror_version)):
        return None
    return rule.fault(value.strip(JAVA_BLANKS))


def _is_strict_on_lists(mirror_version: str | None) -> bool:
    numbers = re.findall(r"[0-9]+", mirror_version or "")[:2]
    return tuple(map(int, numbers)) >= _STRICT_LISTS


def _outside(number: float, least: float | None, most: float | None) -> str | None:
    if (least is None or not number < least) and (most is None or not number > most):
        return None
    if least is None or most is None:
        return f"is {number}; write at least {least}"
    return f"is {number}; write a number from {least} to {most}"
