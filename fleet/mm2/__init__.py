"""MirrorMaker 2: its properties file, its names of topics, what it ignores and refuses.

properties        mm2.properties as a topology
flows             one flow from what MirrorMaker gives its connectors and its worker
handling          what a mirror does to records on their way, and at failures
ignored           keys of mm2.properties that MirrorMaker ignores without a word
names             the keys that MirrorMaker knows, by where they are read and by its version
resolution        what each part of a dedicated MirrorMaker is given from mm2.properties
value_rules       which values MirrorMaker accepts for its keys
values            single values of mm2.properties, read as Kafka's ConfigDef reads them
warnings          what MirrorMaker says nothing about
replication       how a mirror names topics on its target, and the names of MirrorMaker's own topics
filters           which topics and consumer groups a flow carries
config_providers  Kafka's configuration providers
"""
