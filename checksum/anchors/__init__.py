"""Pairs of source and target offsets of the same record.

pairs            pairs of offset syncs, and which can be the start or end of a range
sync_topic       read offset syncs from MirrorMaker's topic, if the service has not stored them
search           choose the pairs to read, and decide by their records
records          compare the two records of a pair
reading          read the records of pairs on both sides, for many partitions at once
misrouted_pairs  remove pairs of records that went to another partition
alignment        match offsets by rows of equal records, without offset syncs
times            find pairs by record timestamps
distances        the cuts and runs of a partition, and the delta between both sides
"""
