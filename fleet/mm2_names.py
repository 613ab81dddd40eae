"""The keys that MirrorMaker knows, by where they are read and by its version.

Taken from the real definitions (MirrorClientConfig, the three connectors' configurations, DistributedConfig)
of Kafka 3.9.2 and 4.3.0; tests/fleet/golden holds what they answered and a test compares the two.
"""

from __future__ import annotations

from fleet.replication import NEWEST_KNOWN, OLDEST_KNOWN

# What a client of a cluster is given: security, and where the cluster is. 4.x knows some keys more.
_CLIENT = frozenset(
    {
        "bootstrap.servers",
        "sasl.client.callback.handler.class",
        "sasl.jaas.config",
        "sasl.kerberos.kinit.cmd",
        "sasl.kerberos.min.time.before.relogin",
        "sasl.kerberos.service.name",
        "sasl.kerberos.ticket.renew.jitter",
        "sasl.kerberos.ticket.renew.window.factor",
        "sasl.login.callback.handler.class",
        "sasl.login.class",
        "sasl.login.connect.timeout.ms",
        "sasl.login.read.timeout.ms",
        "sasl.login.refresh.buffer.seconds",
        "sasl.login.refresh.min.period.seconds",
        "sasl.login.refresh.window.factor",
        "sasl.login.refresh.window.jitter",
        "sasl.login.retry.backoff.max.ms",
        "sasl.login.retry.backoff.ms",
        "sasl.mechanism",
        "sasl.oauthbearer.clock.skew.seconds",
        "sasl.oauthbearer.expected.audience",
        "sasl.oauthbearer.expected.issuer",
        "sasl.oauthbearer.header.urlencode",
        "sasl.oauthbearer.jwks.endpoint.refresh.ms",
        "sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms",
        "sasl.oauthbearer.jwks.endpoint.retry.backoff.ms",
        "sasl.oauthbearer.jwks.endpoint.url",
        "sasl.oauthbearer.scope.claim.name",
        "sasl.oauthbearer.sub.claim.name",
        "sasl.oauthbearer.token.endpoint.url",
        "security.protocol",
        "ssl.cipher.suites",
        "ssl.enabled.protocols",
        "ssl.endpoint.identification.algorithm",
        "ssl.engine.factory.class",
        "ssl.key.password",
        "ssl.keymanager.algorithm",
        "ssl.keystore.certificate.chain",
        "ssl.keystore.key",
        "ssl.keystore.location",
        "ssl.keystore.password",
        "ssl.keystore.type",
        "ssl.protocol",
        "ssl.provider",
        "ssl.secure.random.implementation",
        "ssl.trustmanager.algorithm",
        "ssl.truststore.certificates",
        "ssl.truststore.location",
        "ssl.truststore.password",
        "ssl.truststore.type",
    }
)
_CLIENT_4 = frozenset(
    {
        "sasl.oauthbearer.assertion.algorithm",
        "sasl.oauthbearer.assertion.claim.aud",
        "sasl.oauthbearer.assertion.claim.exp.seconds",
        "sasl.oauthbearer.assertion.claim.iss",
        "sasl.oauthbearer.assertion.claim.jti.include",
        "sasl.oauthbearer.assertion.claim.nbf.seconds",
        "sasl.oauthbearer.assertion.claim.sub",
        "sasl.oauthbearer.assertion.file",
        "sasl.oauthbearer.assertion.private.key.file",
        "sasl.oauthbearer.assertion.private.key.passphrase",
        "sasl.oauthbearer.assertion.template.file",
        "sasl.oauthbearer.client.credentials.client.id",
        "sasl.oauthbearer.client.credentials.client.secret",
        "sasl.oauthbearer.jwt.retriever.class",
        "sasl.oauthbearer.jwt.validator.class",
        "sasl.oauthbearer.scope",
    }
)

# What the source, heartbeat and checkpoint connectors define beside the client keys.
_CONNECTOR = frozenset(
    {
        "admin.timeout.ms",
        "checkpoints.topic.replication.factor",
        "config.action.reload",
        "config.properties.exclude",
        "config.property.filter.class",
        "connector.class",
        "consumer.poll.timeout.ms",
        "emit.checkpoints.enabled",
        "emit.checkpoints.interval.seconds",
        "emit.heartbeats.enabled",
        "emit.heartbeats.interval.seconds",
        "emit.offset-syncs.enabled",
        "enabled",
        "errors.log.enable",
        "errors.log.include.messages",
        "errors.retry.delay.max.ms",
        "errors.retry.timeout",
        "errors.tolerance",
        "forwarding.admin.class",
        "group.filter.class",
        "groups",
        "groups.exclude",
        "header.converter",
        "heartbeats.topic.replication.factor",
        "key.converter",
        "metric.reporters",
        "name",
        "offset-syncs.topic.location",
        "offset-syncs.topic.replication.factor",
        "offset.lag.max",
        "predicates",
        "refresh.groups.enabled",
        "refresh.groups.interval.seconds",
        "refresh.topics.enabled",
        "refresh.topics.interval.seconds",
        "replication.factor",
        "replication.policy.class",
        "replication.policy.internal.topic.separator.enabled",
        "replication.policy.separator",
        "source.cluster.alias",
        "sync.group.offsets.enabled",
        "sync.group.offsets.interval.seconds",
        "sync.topic.acls.enabled",
        "sync.topic.acls.interval.seconds",
        "sync.topic.configs.enabled",
        "sync.topic.configs.interval.seconds",
        "target.cluster.alias",
        "tasks.max",
        "tasks.max.enforce",
        "topic.filter.class",
        "topics",
        "topics.exclude",
        "transforms",
        "value.converter",
    }
)
_CONNECTOR_3 = frozenset(
    {
        "add.source.alias.to.metrics",
        "auto.include.jmx.reporter",
        "config.properties.blacklist",
        "groups.blacklist",
        "topics.blacklist",
        "use.incremental.alter.configs",
    }
)
_CONNECTOR_4 = frozenset(
    {
        "config.providers",
        "connector.plugin.version",
        "header.converter.plugin.version",
        "heartbeats.replication.enabled",
        "key.converter.plugin.version",
        "metric.names.formats",
        "value.converter.plugin.version",
    }
)

# What the Connect worker of a flow defines beside the client keys, in either version.
WORKER_NAMES = frozenset(
    {
        "access.control.allow.methods",
        "access.control.allow.origin",
        "admin.listeners",
        "auto.include.jmx.reporter",
        "client.dns.lookup",
        "client.id",
        "config.providers",
        "config.storage.replication.factor",
        "config.storage.topic",
        "connect.protocol",
        "connections.max.idle.ms",
        "connector.client.config.override.policy",
        "exactly.once.source.support",
        "group.id",
        "header.converter",
        "header.converter.plugin.version",
        "heartbeat.interval.ms",
        "inter.worker.key.generation.algorithm",
        "inter.worker.key.size",
        "inter.worker.key.ttl.ms",
        "inter.worker.signature.algorithm",
        "inter.worker.verification.algorithms",
        "key.converter",
        "key.converter.plugin.version",
        "listeners",
        "metadata.max.age.ms",
        "metadata.recovery.rebootstrap.trigger.ms",
        "metadata.recovery.strategy",
        "metric.reporters",
        "metrics.num.samples",
        "metrics.recording.level",
        "metrics.sample.window.ms",
        "offset.flush.interval.ms",
        "offset.flush.timeout.ms",
        "offset.storage.partitions",
        "offset.storage.replication.factor",
        "offset.storage.topic",
        "plugin.discovery",
        "plugin.path",
        "rebalance.timeout.ms",
        "receive.buffer.bytes",
        "reconnect.backoff.max.ms",
        "reconnect.backoff.ms",
        "request.timeout.ms",
        "response.http.headers.config",
        "rest.advertised.host.name",
        "rest.advertised.listener",
        "rest.advertised.port",
        "rest.extension.classes",
        "retry.backoff.max.ms",
        "retry.backoff.ms",
        "scheduled.rebalance.max.delay.ms",
        "send.buffer.bytes",
        "session.timeout.ms",
        "socket.connection.setup.timeout.max.ms",
        "socket.connection.setup.timeout.ms",
        "ssl.client.auth",
        "status.storage.partitions",
        "status.storage.replication.factor",
        "status.storage.topic",
        "task.shutdown.graceful.timeout.ms",
        "topic.creation.enable",
        "topic.tracking.allow.reset",
        "topic.tracking.enable",
        "value.converter",
        "value.converter.plugin.version",
        "worker.sync.timeout.ms",
        "worker.unsync.backoff.ms",
    }
)

# Top-level keys that reach the worker of every flow, and beside them every key that begins so.
WORKER_PREFIXES = (
    "offset.storage",
    "config.storage",
    "status.storage",
    "key.converter",
    "value.converter",
    "header.converter",
    "task",
    "worker",
    "replication.policy",
)
TOP_LEVEL_REST_NAMES = frozenset({"rest.advertised.port", "ssl.client.auth"})
TOP_LEVEL_NAMES = frozenset(
    {"clusters", "config.providers", "dedicated.mode.enable.internal.rest", "plugin.path"}
)


def client_names(major: int | None) -> frozenset[str]:
    """Return the client keys that MirrorMaker 3.x or 4.x knows, or either where the version is unknown."""
    return _CLIENT if major == OLDEST_KNOWN else _CLIENT | _CLIENT_4


def connector_names(major: int | None) -> frozenset[str]:
    """Return the keys that the three connectors define: the only top-level ones that they are given."""
    older = frozenset() if major == NEWEST_KNOWN else _CONNECTOR_3
    newer = frozenset() if major == OLDEST_KNOWN else _CONNECTOR_4
    # The security keys among them, but not where the cluster is: that stands under source.cluster.
    return (_CONNECTOR | older | newer | client_names(major)) - {"bootstrap.servers"}
