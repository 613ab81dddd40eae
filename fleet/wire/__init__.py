"""Records of Kafka, Connect and MirrorMaker, read and written byte by byte.

mirror           read and write what a mirror says about itself
bytes            read and write the few primitive types of Kafka's record schemas, big-endian and bounded
compact          read and write the fields of Kafka's record schemas, plain and flexible
commits          read the records of `__consumer_offsets`
commit_keys      keys of `__consumer_offsets`
commit_records   what the records of `__consumer_offsets` say, as plain frozen values
commit_values    values of offset commits, versions 0 to 4
connect          source offsets of Kafka Connect
consumer_groups  values of a KIP-848 group's members, version 0, flexible
group_metadata   values that describe a classic group, versions 0 to 4
records          the records that MirrorMaker 2 and Kafka Connect write about a mirror
status           read what a Connect worker writes of its connectors and tasks into its status topic
tasks            what a worker's configuration topic says of a mirror's tasks
"""
