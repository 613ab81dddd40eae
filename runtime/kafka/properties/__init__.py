"""Java client properties translated for librdkafka.

ciphers       turn Java's names of cipher suites (IANA's) into OpenSSL's
draft         one translation under way
fate          what becomes of a client property
jaas          read the value of `sasl.jaas.config` as the Java client reads it
java_clients  every property of the Java producer, consumer and admin client, Kafka 3.9 and 4.3
msk           AWS MSK with IAM: what Java's aws-msk-iam-auth is configured with becomes OAUTHBEARER with
msk_tokens    tokens for AWS MSK, signed by the package aws-msk-iam-sasl-signer-python
named_files   files that the properties of a client name
native_keys   every property of librdkafka 2.16 that the Java clients do not have, and what becomes of it
oauth         translate OAUTHBEARER: Java's client-credentials and JWT-bearer grants become librdkafka's
redaction     keep secrets out of whatever is printed
reference     write docs/reference/client-properties.md from the tables of keys
sasl          translate how a client proves who it is
stores        read trust stores and key stores
tls           translate the TLS settings
translation   translate the properties of a Kafka cluster, in Java's or librdkafka's spelling
client_settings  the settings of a Kafka client, ready to be used
"""
