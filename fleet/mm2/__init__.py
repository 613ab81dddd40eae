"""MirrorMaker 2: its properties file, topic names, filters, ignored and refused keys.

properties        mm2.properties as a topology
resolution        properties of each part of a dedicated MirrorMaker
config_providers  Kafka's configuration providers
values            values, read as Kafka's ConfigDef does
value_rules       values that MirrorMaker accepts
names             keys that MirrorMaker knows, by place and version
flows             one flow
replication       topic names on the target, and MirrorMaker's own topics
mirror_client     what MirrorMaker's Java client answers about a cluster
filters           topics and consumer groups of a flow
topic_sync        what a mirror keeps the same of topics: configurations and ACLs
handling          what a mirror does to records and on failures
ignored           keys that MirrorMaker silently ignores
warnings          settings with a surprising effect
"""
