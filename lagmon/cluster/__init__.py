"""The state of one cluster: its groups, topics and members, and how up to date that is.

state                commits, positions and members of one cluster's groups, and verdicts from them
group_share          the groups of one cluster that belong to this process, if several share them
absence              when a cluster was last unreachable
commits              up to when the commits of a cluster's groups are known
marks                ids of one cluster's topics, re-creations, open transactions
positions            the position of each group in its logs, for many slots at once
slot_verdicts        verdicts on all slots of one cluster, block by block
tails                checks of the last offsets before log ends, where groups and mirrors are idle
names                numbers of groups, topics and partitions: slots and places
given_names          names of topics that members were assigned by id and on which no group commits
membership           members of groups and their assignments
owned_places         partitions that groups own and never committed on
late_ids             topic ids that are not outdated
unlisted_partitions  offsets on partitions that their topic does not have
unreadable_commits   offsets of groups whose newest commit could not be parsed
readiness            whether all of a cluster's groups are known, and the reading progress if not
handed_over          how far the partitions of a topic were read, and steps back
"""
