"""What is known of one cluster: its groups, topics, members, and how current that is.

state                commits, positions and members of one cluster's groups, and verdicts from them
absence              when a cluster last did not answer
commits              how far the commits of a cluster's groups are known
marks                ids of one cluster's topics, re-creations, open transactions
positions            where each group of one cluster stands in its logs, many slots at once
sight                verdicts on all slots of one cluster, a block at a time
tails                ends of one cluster's logs before which groups and mirrors stand
names                which group, topic and partition stands behind each slot and place, of one cluster
given_names          names of topics that members were given by id and on which no group commits
membership           who is a member of which group, and what each was given
owned_places         places that members of groups were given and on which their groups never committed
late_ids             which ids of topics came in time
unlisted_partitions  offsets that were committed to partitions which their topic does not have
readiness            whether all of a cluster's groups are known, and the reading progress if not
handed_over          how far the partitions of a topic were handed over, and that one goes back
"""
