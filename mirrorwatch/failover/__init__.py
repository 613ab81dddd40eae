"""`mirrorwatch failover` and `offsets`: query the clusters once, and commit offsets of groups that fail over.

cluster       queries to one cluster: topics, groups, offsets, small topics whole
asking        the queries: the store, then each flow
facts         the facts of a flow's groups, read from both clusters and the store
document      the JSON document of `failover --json`
text          the text output of `failover`
offsets_file  the file of a group's offsets on a target
applying      compares such a file with the target
moving        the commands `offsets translate`, `export` and `apply`
"""
