"""Failover readiness: `mirrorwatch failover` and `offsets`, and the audit in the service.

config         the section `failover` of the configuration
cluster        queries to one cluster: topics, groups, offsets, new records of a topic
mirror_topics  what the mirror's topics say: checkpoints, offset syncs, committed offsets
facts          the facts of a flow's groups, read from both clusters
proving        `failover --prove`: the next records, read on both clusters
asking         the queries of the commands: the store, then each flow
document       the JSON document of `failover --json`
text           the text output of `failover`
rehearsing     the command `drill`
offsets_file   the file of a group's offsets on a target
applying       compares such a file with the target
moving         the commands `offsets translate`, `export`, `reset` and `apply`
audit          the audit of all flows again and again, in a process of its own
"""
