"""Table of all properties of the Java producer, consumer and admin client, Kafka 3.9 and 4.3.

The names are those of ProducerConfig, ConsumerConfig and AdminClientConfig; the tests compare with lists from
these classes.
"""

from __future__ import annotations

from typing import Final

from runtime.kafka.properties.fate import Key, ignored, number, plain, refused, special

_CONNECTION: Final = (
    special("bootstrap.servers", "host:port, separated by commas; required"),
    plain("client.dns.lookup", words=("use_all_dns_ips", "resolve_canonical_bootstrap_servers_only")),
    plain("client.rack", sentence="lets a reader fetch from a replica in its own rack"),
    number("connections.max.idle.ms", lowest=0, sentence="-1, never, becomes 0"),
    plain(
        "enable.metrics.push",
        words=("true", "false"),
        sentence="false unless it is set: each client would keep 0.8 MiB for them",
    ),
    plain("metadata.recovery.strategy", words=("none", "rebootstrap")),
    number("metadata.recovery.rebootstrap.trigger.ms", lowest=0),
    number(
        "receive.buffer.bytes",
        "socket.receive.buffer.bytes",
        lowest=0,
        highest=100_000_000,
        sentence="-1, the system's default, becomes 0",
    ),
    number(
        "send.buffer.bytes",
        "socket.send.buffer.bytes",
        lowest=0,
        highest=100_000_000,
        sentence="-1, the system's default, becomes 0",
    ),
    number("reconnect.backoff.ms", lowest=0, highest=3_600_000),
    number("reconnect.backoff.max.ms", lowest=0, highest=3_600_000),
    number("retry.backoff.ms", lowest=1, highest=300_000),
    number("retry.backoff.max.ms", lowest=1, highest=300_000),
    number("socket.connection.setup.timeout.ms", lowest=1000),
    *ignored(
        "socket.connection.setup.timeout.max.ms",
        "librdkafka waits equally long for every connection: socket.connection.setup.timeout.ms",
    ),
    *ignored(
        "request.timeout.ms default.api.timeout.ms max.block.ms delivery.timeout.ms",
        "every call of mirrorwatch has its own deadline",
    ),
    *ignored("metadata.max.age.ms metadata.max.idle.ms", "mirrorwatch asks for metadata at its own pace"),
    *ignored("client.id", "each client of mirrorwatch names itself after what it does"),
    *refused("bootstrap.controllers", "mirrorwatch talks to brokers: name them in bootstrap.servers"),
    *ignored("config.providers", "references such as ${env:NAME} are resolved where the file is read"),
)

_SECURITY: Final = (
    special("security.protocol", "PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL"),
    special(
        "sasl.mechanism",
        "PLAIN, SCRAM-SHA-256, SCRAM-SHA-512, OAUTHBEARER or AWS_MSK_IAM; GSSAPI, Java's default, is refused",
    ),
    special(
        "sasl.jaas.config",
        "user and password, or the OAuth client, of PlainLoginModule, ScramLoginModule or "
        "OAuthBearerLoginModule; for AWS MSK the profile or the role, of IAMLoginModule",
    ),
    special(
        "sasl.client.callback.handler.class",
        "that of AWS MSK IAM is understood, any other is refused: a Java class, which requires Java",
    ),
    special(
        "sasl.login.callback.handler.class",
        "Kafka's own OAuthBearerLoginCallbackHandler and that of AWS MSK IAM are understood, any other is "
        "refused",
    ),
    *refused(
        "sasl.login.class",
        "it names a Java class, which requires Java: set sasl.username and sasl.password, "
        "or the keys sasl.oauthbearer.*, for mirrorwatch's own principal",
    ),
    *ignored(
        "sasl.kerberos.kinit.cmd sasl.kerberos.min.time.before.relogin sasl.kerberos.service.name "
        "sasl.kerberos.ticket.renew.jitter sasl.kerberos.ticket.renew.window.factor",
        "only GSSAPI reads it, and sasl.mechanism=GSSAPI itself is refused",
    ),
    *ignored(
        "sasl.login.connect.timeout.ms sasl.login.read.timeout.ms sasl.login.refresh.buffer.seconds "
        "sasl.login.refresh.min.period.seconds sasl.login.refresh.window.factor "
        "sasl.login.refresh.window.jitter sasl.login.retry.backoff.max.ms sasl.login.retry.backoff.ms",
        "librdkafka renews a token by its own rule, at 80 % of the token's life",
    ),
    *refused(
        "security.providers",
        "Java security providers cannot be loaded: make sure that OpenSSL's own algorithms "
        "are allowed here, then set the key empty under `clusters:`",
    ),
)

_OAUTH: Final = (
    special("sasl.oauthbearer.token.endpoint.url", "an http or https address; required for OAUTHBEARER"),
    special("sasl.oauthbearer.client.credentials.client.id", "or clientId in sasl.jaas.config"),
    special("sasl.oauthbearer.client.credentials.client.secret", "or clientSecret in sasl.jaas.config"),
    special("sasl.oauthbearer.scope", "or scope in sasl.jaas.config"),
    special(
        "sasl.oauthbearer.jwt.retriever.class",
        "Kafka's own DefaultJwtRetriever, ClientCredentialsJwtRetriever and JwtBearerJwtRetriever are "
        "understood, any other is refused",
    ),
    plain("sasl.oauthbearer.sub.claim.name"),
    plain("sasl.oauthbearer.assertion.algorithm", sentence="RS256 or ES256"),
    plain("sasl.oauthbearer.assertion.claim.aud"),
    number("sasl.oauthbearer.assertion.claim.exp.seconds", lowest=1),
    plain("sasl.oauthbearer.assertion.claim.iss"),
    plain("sasl.oauthbearer.assertion.claim.jti.include", words=("true", "false")),
    number("sasl.oauthbearer.assertion.claim.nbf.seconds", lowest=0),
    plain("sasl.oauthbearer.assertion.claim.sub"),
    special("sasl.oauthbearer.assertion.file", "a file that holds the finished assertion"),
    special("sasl.oauthbearer.assertion.private.key.file", "the PEM key that signs the assertion"),
    plain("sasl.oauthbearer.assertion.private.key.passphrase"),
    special(
        "sasl.oauthbearer.assertion.template.file", "becomes sasl.oauthbearer.assertion.jwt.template.file"
    ),
    *ignored(
        "sasl.oauthbearer.clock.skew.seconds sasl.oauthbearer.expected.audience "
        "sasl.oauthbearer.expected.issuer "
        "sasl.oauthbearer.jwks.endpoint.refresh.ms sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms "
        "sasl.oauthbearer.jwks.endpoint.retry.backoff.ms sasl.oauthbearer.jwks.endpoint.url "
        "sasl.oauthbearer.jwt.validator.class sasl.oauthbearer.scope.claim.name",
        "the broker validates the token; librdkafka passes it on unchanged",
    ),
    special(
        "sasl.oauthbearer.header.urlencode",
        "refused where it is true and the client's id or secret would be changed by it",
    ),
)

_TLS: Final = (
    special("ssl.truststore.location", "PEM or PKCS12, detected from its bytes; becomes ssl.ca.pem"),
    special("ssl.truststore.password", "of a PKCS12 trust store"),
    special(
        "ssl.truststore.type", "not needed: the bytes show it; a type that needs a Java provider is refused"
    ),
    special("ssl.truststore.certificates", "PEM text; becomes ssl.ca.pem"),
    special(
        "ssl.keystore.location",
        "PEM or PKCS12, detected from its bytes; becomes ssl.certificate.pem and ssl.key.pem",
    ),
    special("ssl.keystore.password", "of a PKCS12 key store"),
    special(
        "ssl.keystore.type", "not needed: the bytes show it; a type that needs a Java provider is refused"
    ),
    special("ssl.keystore.certificate.chain", "PEM text; becomes ssl.certificate.pem"),
    special("ssl.keystore.key", "PEM text; becomes ssl.key.pem"),
    special("ssl.key.password", "of an encrypted PEM key"),
    special("ssl.endpoint.identification.algorithm", "https, or empty for none"),
    special("ssl.cipher.suites", "Java's names become OpenSSL's; those of TLS 1.3 are always offered"),
    special(
        "ssl.enabled.protocols",
        "librdkafka offers TLSv1.2 and TLSv1.3, and cannot leave one out; refused where neither is listed",
    ),
    special("ssl.protocol", "as ssl.enabled.protocols"),
    *refused(
        "ssl.engine.factory.class",
        "it names a Java class, which requires Java: name the stores in "
        "ssl.truststore.location and ssl.keystore.location, and set this key empty "
        "under `clusters:`",
    ),
    *ignored(
        "ssl.keymanager.algorithm ssl.trustmanager.algorithm ssl.secure.random.implementation ssl.provider",
        "it chooses among Java's implementations of TLS; mirrorwatch uses OpenSSL",
    ),
)

_WORK: Final = (
    *ignored(
        "acks batch.size buffer.memory compression.type compression.gzip.level compression.lz4.level "
        "compression.zstd.level enable.idempotence linger.ms max.in.flight.requests.per.connection "
        "max.request.size retries",
        "the canary sets its own, so that a probe is sent at once and its outcome is known",
    ),
    *ignored(
        "partitioner.class partitioner.adaptive.partitioning.enable partitioner.availability.timeout.ms "
        "partitioner.ignore.keys",
        "the canary chooses the partition of every probe",
    ),
    *ignored(
        "transactional.id transaction.timeout.ms transaction.two.phase.commit.enable",
        "mirrorwatch writes without transactions",
    ),
    *ignored("allow.auto.create.topics", "mirrorwatch creates its own topic, and no other"),
    *ignored(
        "auto.offset.reset auto.commit.interval.ms enable.auto.commit",
        "mirrorwatch chooses the offsets that it reads from, and commits none",
    ),
    *ignored(
        "check.crcs fetch.max.bytes fetch.max.wait.ms fetch.min.bytes max.partition.fetch.bytes "
        "max.poll.records",
        "each reader of mirrorwatch sets its own, for the lowest delay or the steadiest rate",
    ),
    *ignored("isolation.level", "each reader of mirrorwatch sets its own, by what it has to see"),
    *ignored("exclude.internal.topics", "mirrorwatch names the topics that it reads"),
    *ignored(
        "group.id group.instance.id group.protocol group.remote.assignor heartbeat.interval.ms "
        "internal.leave.group.on.close max.poll.interval.ms partition.assignment.strategy session.timeout.ms",
        "mirrorwatch assigns partitions to itself and joins no group",
    ),
    *ignored("share.acknowledgement.mode share.acquire.mode", "mirrorwatch joins no share group"),
    *ignored("internal.throw.on.fetch.stable.offset.unsupported", "it is internal to the Java consumer"),
    *ignored(
        "key.serializer value.serializer key.deserializer value.deserializer",
        "mirrorwatch reads and writes bytes",
    ),
    *ignored("interceptor.classes", "Java classes are not run, and no interceptor may change a probe"),
    *ignored(
        "auto.include.jmx.reporter metric.reporters metrics.num.samples metrics.recording.level "
        "metrics.sample.window.ms",
        "mirrorwatch exposes its own metrics at /metrics",
    ),
)

JAVA_KEYS: Final[dict[str, Key]] = {
    key.name: key for key in (*_CONNECTION, *_SECURITY, *_OAUTH, *_TLS, *_WORK)
}  # fmt: skip
