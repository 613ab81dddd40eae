"""Random files in the form of an mm2.properties: everything that a person may write into one, and worse.

The same seed gives the same files. Most of them are files that MirrorMaker accepts.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from fleet.mm2.names import WORKER_NAMES, WORKER_PREFIXES, client_names, connector_names

_P = "org.apache.kafka.connect.mirror."
_PROVIDER = "org.apache.kafka.common.config.provider."
_ALIASES = (
    "A", "B", "C", "AB", "A.B", "A-B", "a", "us", "us-east", "us.east", "us.east-1", "eu", "source", "target", "cloud",
    "producer", "consumer1", "admin", "task", "ssl", "source.cluster", "replication", "config.providers", "mm2",
    "eu_west", "A->", "\xe9", "0",
)  # fmt: skip
_TOPICS = (
    ".*", "orders", "orders.*", "orders.*, A.*", "orders,B\\\\..*", "a|aa", "", " ", "[a-c]+", "orders, ,us", "(?i)ORDERS", "orders.*,",
    "^orders$", "A.orders,heartbeats", "orders,orders",
)  # fmt: skip
_SEPARATORS = (".", "_", "-", "--", "", "..", " ", "_ ", "x", "ar", "\\u002e", "\\t")
_POLICIES = (f"{_P}DefaultReplicationPolicy", f"{_P}IdentityReplicationPolicy")
_VARIABLES = (
    "${env:MW_GOLDEN_TRUE}", "${env:MW_GOLDEN_FALSE}", "${env:MW_GOLDEN_TOPICS}", "${env:MW_GOLDEN_PASSWORD}",
    "${env:MW_GOLDEN_MISSING}", "${file:secrets.properties:password}", "${file:secrets.properties:topics}",
    "${file:secrets.properties:escaped}", "${file:secrets.properties:nested}", "${dir:secrets:password}",
    "x${env:MW_GOLDEN_TRUE}y", "${vault:a:b}", "${env:}", "${a}", "${file:nowhere.properties:a}",
)  # fmt: skip
_PROVIDERS = {"env": "EnvVar", "file": "File", "dir": "Directory"}
_CHOICES = {
    "security.protocol": ("PLAINTEXT", "SSL", "sasl_ssl", "SASL_PLAINTEXT", "Ssl "),
    "exactly.once.source.support": ("enabled", "disabled", "ENABLED", "preparing"),
    "offset-syncs.topic.location": ("source", "target", "source ", "target"),
    "errors.tolerance": ("none", "all"),
    "config.action.reload": ("none", "restart"),
    "use.incremental.alter.configs": ("requested", "required", "never"),
    "connect.protocol": ("eager", "compatible", "sessioned"),
    "client.dns.lookup": ("use_all_dns_ips", "resolve_canonical_bootstrap_servers_only"),
    "metadata.recovery.strategy": ("none", "rebootstrap"),
    "metrics.recording.level": ("INFO", "DEBUG", "TRACE"),
    "plugin.discovery": ("service_load",),
    "ssl.client.auth": ("required", "requested", "none"),
    "inter.worker.key.generation.algorithm": ("HmacSHA256",),
    "inter.worker.signature.algorithm": ("HmacSHA256",),
    "inter.worker.verification.algorithms": ("HmacSHA256",),
    "sasl.oauthbearer.assertion.algorithm": ("RS256", "es256"),
    "metric.names.formats": ("legacy", "new", "legacy,new"),
    "replication.policy.class": _POLICIES,
    "replication.policy.separator": _SEPARATORS,
    "source.cluster.alias": ("", "up", "A", " B", "x.y", "A.B"),
    "target.cluster.alias": ("", "down", "B", "A"),
    "isolation.level": ("read_committed", "read_uncommitted"),
    "auto.offset.reset": ("earliest", "latest"),
    "compression.type": ("none", "zstd"),
    "listeners": ("http://localhost:8083",),
    "admin.listeners": ("http://localhost:8084",),
}
_TEXTS = ("x", "some text", "a=b", "a:b # c", "caf\xe9", "back\\\\slash", "1", "true")
_VALUES: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = (
    *(((ending,), choices) for ending, choices in _CHOICES.items()),
    (("topics", "groups", ".exclude", "blacklist", "whitelist", "include"), _TOPICS),
    (
        (
            "enabled",
            ".enable",
            ".messages",
            "enforce",
            "urlencode",
            "metrics",
            "jmx.reporter",
            "allow.reset",
            "jti.include",
        ),
        ("true", "false", "TRUE", "False"),
    ),
    (("window.factor",), ("0.8",)),
    (("jitter",), ("0.05",)),
    (
        (
            ".factor",
            ".max",
            ".ms",
            ".seconds",
            ".partitions",
            ".bytes",
            ".samples",
            "timeout",
            "login",
            ".size",
        ),
        ("1", "2", "3", "10", "60", "300", "700"),
    ),
)
_BAD = (
    "many",
    "-1",
    "0",
    "1.5",
    "99999999999",
    "9999999999999999999",
    "yes",
    "tru",
    "",
    "1 000",
    "0x10",
    "+7",
    "007",
)
_MORE_NAMES = (
    "isolation.level", "auto.offset.reset", "compression.type", "max.request.size", "linger.ms", "fetch.max.bytes",
    "alias", "cluster.alias", "X", "own.plugin.setting", "topics.whitelist", "topics.include", "task.max", "topic", "enable",
    "transforms.a.type", "predicates.p.type", "config.providers.env.param.x", "offset.storage", "offset.storage.extra",
    "task", "taskmaster", "worker", "worker.note", "replication.policy", "replication.policyx", "key.converter.schemas.enable",
    "key.converterX", "config.providersX", "producer", "consumerX", "admin.x", "adminx", "source.x", "topic.creation.enable",
    "topic.creation.default.partitions", "offsets.storage.topic", "exactly.once.support", "->", "A->B", "bootstrap.server",
)  # fmt: skip
# Classes and files, which would have to be there, and what starts servers or reads the class path.
_LEFT_OUT = (
    ".class", "converter", "plugin.path", "plugin.version", "metric.reporters", "rest.extension", "listeners",
    "response.http", "rest.advertised.port", "connector.client.config", "transforms", "predicates", "plugin.discovery",
    "config.providers",
)  # fmt: skip
_NAMES = tuple(
    sorted(
        name
        for name in client_names(None) | connector_names(None) | WORKER_NAMES
        if not any(part in name for part in _LEFT_OUT) or name == "replication.policy.class"
    )
)
# What people do write.
_USUAL = (
    "topics", "topics.exclude", "groups", "groups.exclude", "enabled", "replication.factor", "replication.policy.separator",
    "replication.policy.class", "tasks.max", "offset.lag.max", "refresh.topics.interval.seconds", "refresh.topics.enabled",
    "emit.heartbeats.enabled", "emit.heartbeats.interval.seconds", "emit.checkpoints.enabled", "sync.group.offsets.enabled",
    "sync.group.offsets.interval.seconds", "offset-syncs.topic.location", "source.cluster.alias", "target.cluster.alias",
    "security.protocol", "sasl.mechanism", "sasl.jaas.config", "ssl.truststore.location", "ssl.truststore.password",
    "topics.blacklist", "groups.blacklist", "heartbeats.replication.enabled", "exactly.once.source.support",
    "offset.flush.interval.ms", "offset.storage.topic", "config.storage.topic", "status.storage.topic", "client.id", "group.id",
    "consumer.isolation.level", "consumer.auto.offset.reset", "producer.compression.type", "errors.tolerance",
    "replication.policy.internal.topic.separator.enabled", "emit.offset-syncs.enabled",
)  # fmt: skip


@dataclass(slots=True)
class _Draft:
    """One file that is being made."""

    luck: random.Random
    bad: bool  # it may hold values that MirrorMaker refuses
    aliases: list[str] = field(init=False)
    lines: list[tuple[str, str]] = field(init=False)

    def __post_init__(self) -> None:
        self.aliases = self.luck.sample(_ALIASES, self.luck.choice((1, 2, 2, 2, 2, 3, 3)))
        self.lines = []

    def text(self) -> str:
        luck = self.luck
        listed = [
            *self.aliases,
            *([""] if luck.random() < 0.03 else []),
            *(self.aliases[:1] if luck.random() < 0.03 else []),
        ]
        self.lines.append(("clusters", luck.choice((", ", ",", " , ")).join(listed)))
        for alias in self.aliases:
            if luck.random() < 0.97:
                self.lines.append((f"{alias}.bootstrap.servers", f"{luck.choice('abc')}:9092"))
        for source in self.aliases:
            for target in self.aliases:
                if luck.random() < (0.55 if source != target else 0.02):
                    value = (
                        "true"
                        if luck.random() < 0.85
                        else luck.choice(("True", "TRUE", "false", "true ", "yes", ""))
                    )
                    self.lines.append((f"{source}->{target}.enabled", value))
        if luck.random() < 0.35:
            self.providers()
        for _ in range(luck.choice((0, 1, 3, 8, 20))):
            self.lines.append(self.line())
        if luck.random() < 0.3:
            self.lines.append(luck.choice(self.lines))
        if luck.random() < 0.5:
            luck.shuffle(self.lines)
        return self.rendered()

    def providers(self) -> None:
        luck = self.luck
        names = luck.sample(tuple(_PROVIDERS), luck.choice((1, 2, 3)))
        self.lines.append(("config.providers", luck.choice((",", ",", ", ")).join(names)))
        for name in names:
            if luck.random() < 0.97:
                self.lines.append(
                    (f"config.providers.{name}.class", f"{_PROVIDER}{_PROVIDERS[name]}ConfigProvider")
                )
        if luck.random() < 0.2:
            self.lines.append((f"config.providers.{names[0]}.param.allowlist.pattern", "MW_GOLDEN_T.*"))
        if luck.random() < 0.1:
            self.lines.append(
                (f"config.providers.{names[0]}.param.allowed.paths", luck.choice(("/", "/etc,/tmp")))
            )

    def line(self) -> tuple[str, str]:
        luck = self.luck
        name = luck.choice(_USUAL if luck.random() < 0.6 else _NAMES if luck.random() < 0.6 else _MORE_NAMES)
        value = self.value(name)
        kind = luck.random()
        if kind < 0.2:
            name = luck.choice(("producer.", "consumer.", "admin.", "producer.override.")) + name
        elif kind < 0.28:
            name = (
                luck.choice(
                    (
                        "source.",
                        "target.",
                        "source.cluster.",
                        "target.cluster.",
                        "source.consumer.",
                        "target.producer.",
                    )
                )
                + name
            )
        elif kind < 0.32:
            name = luck.choice(WORKER_PREFIXES) + luck.choice((".x", "", "x"))
        place = luck.random()
        if place < 0.33:
            return name, value
        if place < 0.62:
            return f"{luck.choice(self.aliases)}.{name}", value
        source, target = luck.choice(self.aliases), luck.choice(self.aliases)
        return f"{source}->{target}.{name}", value

    def value(self, name: str) -> str:
        luck = self.luck
        if luck.random() < 0.08:
            return luck.choice(_VARIABLES)
        if self.bad and luck.random() < 0.08:
            return luck.choice(_BAD)
        for endings, choices in _VALUES:
            if name.endswith(endings):
                return luck.choice(choices)
        return luck.choice(_TEXTS)

    def rendered(self) -> str:
        luck = self.luck
        end = luck.choice(("\n", "\n", "\n", "\r\n", "\r"))
        found = "\xef\xbb\xbf" if luck.random() < 0.02 else ""
        for key, value in self.lines:
            found += self.rendered_line(key, value, end)
            if luck.random() < 0.05:
                found += (
                    luck.choice(("# a comment", "! another", "", "   ", "  # x = y", "alone", "#\\")) + end
                )
        return found if luck.random() < 0.8 else found.removesuffix(end)

    def rendered_line(self, key: str, value: str, end: str) -> str:
        luck = self.luck
        odd = luck.random()
        separator = (
            luck.choice(("=", " = ", "=", ":", " : ", " ", "\t", "= ", " =", "\f=\f")) if odd < 0.5 else " = "
        )
        if odd < 0.05:
            at = luck.randrange(len(key) + 1)
            key = luck.choice(
                (
                    f"{key[:at]}\\{end}  {key[at:]}",
                    f"{key[:at]}\\u{ord(key[at : at + 1] or 'x'):04x}{key[at + 1 :]}",
                )
            )
        elif odd < 0.1 and value:
            at = luck.randrange(len(value) + 1)
            value = f"{value[:at]}\\{end} \t{value[at:]}"
        elif odd < 0.13:
            key = key.replace("->", luck.choice((" -> ", "- >", "\\ ->", "-\\u003e", "->")))
        elif odd < 0.15:
            value += luck.choice((" ", "\\", "\\ ", "\\n", " # not a comment"))
        elif odd < 0.152:
            value += "\\u12"
        return luck.choice(("", "", "", " ", "\t ")) + key + separator + value + end


def generated(seed: int, count: int) -> dict[str, bytes]:
    """Return files by name."""
    found = {}
    for number in range(count):
        luck = random.Random(f"{seed}-{number}")
        text = _Draft(luck, bad=luck.random() < 0.3).text()
        found[f"{seed}-{number:05}.properties"] = text.encode("latin-1")
    return found
