"""Differences that are read again before they are reported.

second_look     read differences again, twice, and keep what both checks find
reading_again   the blocks of offsets to read again on both sides
stretches       read stretches of a partition by a consumer, and hash the records as the digest does
narrow          records of a block -> a verdict for each
sequence_order  the longest common subsequence of two sides
look_ups        whether the source holds extra records of the target
sweeps          which offsets of a log to read for many questions at once
recount         check findings of digests by counting equal records again
outside_range   lost records that the target has just outside its range
written_again   keys of a compacted topic that were written again after the range
loss_looks      read topic limits of the target and sizes of lost records
loss_causes     why a record is lost, by its size and MirrorMaker's settings
"""
