"""What all parts share: the words, the formats of Kafka and MirrorMaker, and the verdicts. Pure.

mm2/           MirrorMaker 2: its properties file, its names of topics, what it ignores and refuses
connect/       Kafka Connect: connectors as clusters and flows, states of tasks
strimzi/       Strimzi's resources as connectors and clusters
java/          Java's properties files and regular expressions
wire/          records of Kafka, Connect and MirrorMaker, read and written byte by byte
series/        the catalogue of all series
verdicts/      from evidence to a verdict: the vocabulary, the rules, and their sentences
dialect        what all documents of /api/v1 have in common
errors         the tree of errors that a user may see
portions       names that are dealt with some at a time, where what belongs to each counts
probe_history  what is known of a flow's past
quantity       durations, sizes and numbers as people write them
topic_name     what Kafka takes as a topic's name (org.apache.kafka.common.internals.Topic)
topology       clusters and the flows between them, and where a topic goes over hops
"""
