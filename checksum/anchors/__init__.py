"""Pairs of source and target offsets of the same record.

pairs         pairs of offset syncs, and which of them can be the beginning or the end of what is compared
reading       read the records at pairs of offsets on both sides, for many partitions side by side
records       two records that a pair of offsets says are one, the original and its copy
search        which pairs of a partition are read, and what the records there decide
alignment     bring the offsets of both sides together without offset syncs
astray_pairs  pairs of offsets that are none
distances     how far the target's offsets are ahead of the source's, along one partition of a plan
times         find pairs of offsets by times of records, confirmed by equal neighbours
sync_topic    read offset syncs from the mirror's own topic, where no service has kept them as they passed
"""
