"""What all parts share: terms, formats of Kafka and MirrorMaker, and verdicts. Pure.

topology       clusters, the flows between them, and the path of a topic over hops
topic_name     valid topic names
topic_settings the settings of a topic
topic_acls     ACLs on topics
mm2/           MirrorMaker 2: its properties file, topic names, filters, ignored and refused keys
connect/       Kafka Connect: connectors as clusters and flows, states of tasks
strimzi/       Strimzi's resources as connectors and clusters
java/          Java's properties files and regular expressions
wire/          records of Kafka, Connect and MirrorMaker, decoded and encoded
series/        the catalogue of all series
verdicts/      from evidence to a verdict: vocabulary, rules and sentences
probe_history  probes and measurements of a flow by minute
dialect        common parts of all documents of /api/v1
quantity       durations, sizes and numbers as text
portions       splits names into batches
shards         which replica watches which flow and which groups
secret_keys    client properties that may hold secrets
errors         errors that a user may see
"""
