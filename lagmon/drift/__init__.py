"""What makes the target of a flow differ from its source: topics, partitions, configurations, ACLs. Pure.

differences  kinds, differences, comparisons, and the drift of a flow
topics       topics that are missing, partition counts, topics that loop
settings     configurations of topics, and the broker defaults behind them
acls         ACLs on topics
"""
