"""Records read again before anything is reported: lost, changed, or only moved.

second_look     read again what two digests say differs, twice, and keep only what both looks saw
look_ups        does the source hold records that the target has too often? Look for them
loss_looks      ask the target for its topics' limits and the source for the sizes of lost records
loss_causes     why a record is lost, by its size and the mirror's settings
outside_range   lost records of which copies lie right outside the target's range
recount         the second check of differences that only digests show
stretches       read stretches of a partition by a plain consumer, and hash what came as the digest does
sweeps          which offsets of one log to read for many questions at once, none of them twice for nothing
written_again   which keys of a compacted topic were written again behind what is compared? Read on
reading_again   which offsets of a partition must be read again, on both sides
narrow          records of one block that were read again on both sides -> what is wrong with each
sequence_order  which records of two sequences stand in the same order, at most
"""
