"""Table of the properties of librdkafka 2.16 that the Java clients do not have.

MirrorMaker ignores them, so they are meant for Mirrorwatch and override a Java key of the same meaning. The
tests compare the names with the installed library's list.
"""

from __future__ import annotations

from typing import Final

from runtime.kafka.properties.fate import Key, ignored, number, plain, refused, special

_ROWS: Final = (
    special("metadata.broker.list", "as bootstrap.servers"),
    special("sasl.mechanisms", "as sasl.mechanism"),
    special("sasl.username", "overrides sasl.jaas.config, together with sasl.password"),
    special("sasl.password", "overrides sasl.jaas.config, together with sasl.username"),
    special("ssl.ca.location", "a PEM file, a directory or `probe`; overrides ssl.truststore.*"),
    special("ssl.ca.pem", "overrides ssl.truststore.*"),
    special("ssl.certificate.location", "overrides ssl.keystore.*, together with ssl.key.location"),
    special("ssl.certificate.pem", "overrides ssl.keystore.*, together with ssl.key.pem"),
    special("ssl.key.location", "the private key of ssl.certificate.location"),
    special("ssl.key.pem", "the private key of ssl.certificate.pem"),
    special("ssl.crl.location", "a file of revoked certificates"),
    special("https.ca.location", "the CA of the token endpoint"),
    plain("https.ca.pem", sentence="the CA of the token endpoint"),
    plain("ssl.curves.list"),
    plain("ssl.sigalgs.list"),
    special(
        "enable.ssl.certificate.verification",
        "false leaves the broker's certificate unverified, and is noted",
    ),
    special("sasl.oauthbearer.method", "oidc"),
    special("sasl.oauthbearer.client.id", "as sasl.oauthbearer.client.credentials.client.id"),
    special("sasl.oauthbearer.client.secret", "as sasl.oauthbearer.client.credentials.client.secret"),
    plain("sasl.oauthbearer.extensions"),
    plain(
        "sasl.oauthbearer.grant.type",
        words=("client_credentials", "urn:ietf:params:oauth:grant-type:jwt-bearer"),
    ),
    plain("sasl.oauthbearer.assertion.private.key.pem"),
    special("sasl.oauthbearer.assertion.jwt.template.file", "a template of the assertion"),
    plain("sasl.oauthbearer.config"),
    plain("sasl.oauthbearer.metadata.authentication.type", words=("none", "azure_imds")),
    number("socket.send.buffer.bytes", lowest=0, highest=100_000_000),
    number("socket.receive.buffer.bytes", lowest=0, highest=100_000_000),
    plain("socket.keepalive.enable", words=("true", "false")),
    plain("socket.nagle.disable", words=("true", "false")),
    number("socket.max.fails", lowest=0, highest=1_000_000),
    number("broker.address.ttl", lowest=0, highest=86_400_000),
    plain("broker.address.family", words=("any", "v4", "v6")),
    plain("debug", sentence="librdkafka's own log; it can show names, never passwords"),
    number("log_level", lowest=0, highest=7),
    plain("log.connection.close", words=("true", "false")),
    *refused(
        "enable.sasl.oauthbearer.unsecure.jwt",
        "unsigned tokens are for tests: set sasl.oauthbearer.token.endpoint.url",
    ),
    *refused(
        "plugin.library.paths interceptors ssl.engine.location ssl.engine.id ssl.providers",
        "mirrorwatch loads no foreign code into its clients: leave it out",
    ),
    *refused(
        "error_cb throttle_cb stats_cb log_cb background_event_cb socket_cb connect_cb closesocket_cb "
        "open_cb resolve_cb opaque default_topic_conf ssl_key ssl_certificate ssl_ca "
        "ssl_engine_callback_data ssl.certificate.verify_cb oauthbearer_token_refresh_cb consume_cb "
        "rebalance_cb offset_commit_cb dr_cb dr_msg_cb partitioner_cb msg_order_cmp enabled_events",
        "it is set by a program and has no value in a file: leave it out",
    ),
    *refused(
        "ssl.ca.certificate.stores",
        "Windows' certificate stores are not supported; set ssl.ca.location",
    ),
    *ignored(
        "sasl.kerberos.principal sasl.kerberos.keytab",
        "only GSSAPI reads it, and sasl.mechanism=GSSAPI itself is refused",
    ),
    *ignored(
        "builtin.features api.version.request api.version.request.timeout.ms api.version.fallback.ms "
        "broker.version.fallback topic.metadata.refresh.fast.cnt socket.blocking.max.ms "
        "reconnect.backoff.jitter.ms produce.offset.report offset.store.method offset.store.path "
        "offset.store.sync.interval.ms auto.commit.enable queuing.strategy",
        "it is obsolete",
    ),
    *ignored(
        "internal.termination.signal enable.random.seed log.queue log.thread.name statistics.interval.ms",
        "mirrorwatch decides how its clients report and end",
    ),
    *ignored(
        "topic.metadata.refresh.interval.ms topic.metadata.refresh.fast.interval.ms "
        "topic.metadata.refresh.sparse topic.metadata.propagation.max.ms topic.blacklist",
        "mirrorwatch asks for metadata at its own pace",
    ),
    *ignored("socket.timeout.ms message.timeout.ms", "every call of mirrorwatch has its own deadline"),
    *ignored(
        "message.max.bytes message.copy.max.bytes max.in.flight enable.gapless.guarantee "
        "queue.buffering.max.messages queue.buffering.max.kbytes queue.buffering.max.ms "
        "message.send.max.retries queue.buffering.backpressure.threshold compression.codec "
        "compression.level batch.num.messages delivery.report.only.error sticky.partitioning.linger.ms "
        "request.required.acks partitioner",
        "the canary sets its own, so that a probe is sent at once and its outcome is known",
    ),
    *ignored(
        "receive.message.max.bytes enable.auto.offset.store queued.min.messages queued.max.messages.kbytes "
        "fetch.wait.max.ms fetch.queue.backoff.ms fetch.message.max.bytes fetch.error.backoff.ms "
        "enable.partition.eof consume.callback.max.messages",
        "each reader of mirrorwatch sets its own, for the lowest delay or the steadiest rate",
    ),
    *ignored(
        "group.protocol.type coordinator.query.interval.ms",
        "mirrorwatch assigns partitions to itself and joins no group",
    ),
)

NATIVE_KEYS: Final[dict[str, Key]] = {key.name: key for key in _ROWS}
