"""Consumer groups: windows of their commits, verdicts, and the documents about them.

rings         the newest commits of every group-partition, as arrays
trail         commits of every group-partition over minutes, whatever their rate
earlier_lags  lags of commits from before a start, computed from stored log end offsets
sweep         verdicts on all group-partitions at once
verdicts      verdicts on many rows in compact form
view          all verdicts on the groups of one cluster at one instant
growth        whether the summed lag of a group grows
kinds         groups that commit no offsets
carried       groups whose offsets MirrorMaker syncs
silences      partitions that a group has been assigned and never committed on
moves         whether the consumer of a partition progresses on others
answers       answers of the ingest process about groups
listing       groups as a list
rows          the partitions of one group as rows of a document
documents     documents of /api/v1 about groups and flows
rules         verdicts on one partition of a group
"""
