"""`mirrorwatch failover`: queries the clusters once, and shows where each group would start on the target.

cluster    queries to one cluster: topics, groups, offsets, small topics whole
asking     the queries: the store, then each flow
facts      the facts of a flow's groups, read from both clusters and the store
document   the JSON document of `failover --json`
text       the text output
"""
