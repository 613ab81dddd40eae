"""Records of Kafka, Connect and MirrorMaker, decoded and encoded.

bytes            primitive types of Kafka's record schemas, bounded
compact          fields of Kafka's record schemas, plain and flexible
commits          records of `__consumer_offsets`
commit_keys      keys of `__consumer_offsets`
commit_records   decoded records of `__consumer_offsets`
commit_values    values of offset commits, versions 0 to 4
consumer_groups  values of a KIP-848 group's members, version 0, flexible
group_metadata   values of a classic group, versions 0 to 4
mirror           MirrorMaker's heartbeats, checkpoints and offset syncs
connect          source offsets of Kafka Connect
records          decoded records of MirrorMaker 2 and Kafka Connect
status           a Connect worker's status topic
tasks            a Connect worker's task configurations
"""
