"""Answers for all shards of a group, from the replicas that work them.

peers          what a replica knows of the others
forwarding     requests to other replicas
certificate    the own certificate in such requests
gathering      asks all replicas with the credentials of a client
whole_view     the view of all shards
questions      questions to the lag monitor and the failover audit of all shards
codec          the view as lines of JSON, from replica to replica
merged_view    one view of those of all shards
merged_groups  one list of consumer groups of those of all shards
merged_lists   one list of failover groups, and of Burrow's consumers
"""
