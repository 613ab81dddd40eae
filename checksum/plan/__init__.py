"""What is compared: topics, ranges of offsets, and slices to read.

shape             the plan as plain values, and the error for an outdated one
facts             what is known of one partition before its ranges are decided
flow_plan         make the plan of a flow, and find the flow of a named topic
building          select topics, and put the plan together
due               what MirrorMaker had time to replicate before the plan was made
ranges            the compared ranges of one partition, and what is left out
cuts              pairs of offsets at which both sides can be split, and runs in which order is compared
cell_count        how many cells digests may have, and settings by which they fit into memory
left_out_reasons  why offsets are left out
document          a plan as JSON, its id, and how it is read and checked
file              a plan file, which is copied to the other site
validity          whether a stored plan is still valid, so that a run can resume
places            the table that Spark joins to records
pacing            slices that keep a rate
verified_to       up to which offset a partition is verified after a run
plan_text         the output of `checksum plan`
"""
