"""Java client properties, translated for librdkafka.

translation      translates the properties of a cluster
client_settings  the result: settings of a client
draft            one translation in progress
fate             what happens to a property, and a row of the tables
java_clients     table of the Java clients' properties, Kafka 3.9 and 4.3
native_keys      table of librdkafka's own properties, 2.16
tls              TLS settings
stores           trust stores and key stores
ciphers          names of cipher suites
named_files      files that the properties name
sasl             SASL settings
jaas             value of `sasl.jaas.config`
oauth            OAUTHBEARER settings
msk              AWS MSK IAM settings
msk_tokens       tokens for AWS MSK
redaction        hides secrets in printed properties
reference        writes docs/reference/client-properties.md
"""
