"""Consumer groups: windows of their commits, verdicts, and the documents about them.

rings         the newest commits of every group-partition, as arrays
trail         commits of every group-partition over minutes, however often they come
earlier_lags  lags of groups' commits from before a start, by the looks that were kept over it
sweep         our verdicts over all groups and partitions at once
verdicts      verdicts on many rows as they are kept
sight         every verdict on the groups of one cluster at one instant
growth        whether groups fall behind with all of their partitions together, by what is seen at each look
kinds         groups that commit no offsets
carried       groups that mirrors carry
silences      where groups of one cluster commit nothing although members of theirs were given it
turns         whether the reader of a partition moves in others meanwhile
answers       what the ingest process answers about groups
listing       groups as a list
rows          the partitions of one group as rows of a document
documents     the answers about groups and flows as /api/v1 has them, made of what the pages are drawn from
rules         verdicts on one partition of a group
"""
