"""What is compared: topics, ranges of offsets, and slices to read.

building     put a plan together
document     a plan as a JSON document, its id, and the reading of one from outside
file         a plan on disk, which is carried to the other site
holding      whether a plan that was kept still holds, so that its digests are gone on with
shape        what a checksum compares, as plain values
facts        what is known of one partition before its ranges are decided
words        what `checksum plan` prints
planning     make the plans of a run
ranges       what of one partition is compared, and what is left out
cuts         at which pairs both sides can be cut in two, so that no copy stands on the wrong side of a cut
pieces       where the ranges of a partition can be cut in two, and along which offsets order is compared
pacing       cut what is to be read into slices, one after the other, so that a rate is kept
due          what the mirror had time to replicate before a plan was made, and what was seen of it meanwhile
left_out     why offsets of a partition are left out, in words with numbers that a person can look up
outdated     what says that a plan does not fit the logs any more
places       what Spark looks up for each record
verified_to  up to where a partition is verified after a run
"""
