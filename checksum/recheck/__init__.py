"""Differences that are read again before they are reported.

recheck            read differences again, twice, and keep what both checks find
block_ranges       the blocks of offsets to read again on both sides
record_chunks      read ranges of offsets by a consumer, and hash the records as the digest does
block_differences  records of a block -> a verdict for each
sequence_order     the longest common subsequence of two sides
lookups            whether the source holds extra records of the target
lookup_scan        which offsets of a log to read for many questions at once
recount            check findings of digests by counting equal records again
outside_range      lost records that the target has just outside its range
rewritten_keys     keys of a compacted topic that were written again after the range
loss_evidence      read topic limits of the target and sizes of lost records
loss_causes        why a record is lost, by its size and MirrorMaker's settings
"""
