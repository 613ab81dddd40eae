"""The logs of partitions: start, end, timestamps, and what is readable before their end.

heads              positions of topic partitions and their history
heads_snapshot     positions as bytes, restored after a restart
head_history       when a log end passed an offset
start_history      earlier log start offsets
near_ends          log ends as 32-bit distances
polled_ends        the polled log ends of one partition as a document
paired_polls       polls of both clusters of a flow after a mirror wrote its offsets
position_polls     polls of one cluster's positions
readable           log tails without a record that a consumer would see
readable_gaps      gaps of one partition
record_due         records whose timestamps to read
record_questions   questions whether a single offset holds a record
record_times       timestamps of records from before all polls
tail_reads         reads records before which consumers are idle
time_lag           age of the oldest record that a consumer has not read
writer_clocks      clocks of producers, compared with ours
hanging            partitions with a hanging transaction
transaction_limit  the brokers' default for the longest transaction
"""
