"""The logs of partitions: start, end, timestamps, and what is readable at their end.

heads              positions of topic partitions
heads_snapshot     the positions of all places as bytes, to be taken up again after a restart
head_history       when the end of a log passed an offset
start_history      where logs began a while ago
near_ends          the ends of each place at some looks, by how far they lie from one near them
place_looks        where the log of one place ended at the looks that are kept, as a document has it
paired_looks       looks at copies' ends soon after a mirror wrote its offsets
position_looks     look at one cluster's positions
readable           where the end of a log holds nothing that a consumer would ever see
readable_gaps      gaps of one place, a topic partition
record_due         which records to look at for their timestamps
record_questions   single offsets of one cluster's logs of which it is to be known whether a record stands
record_times       timestamps of records that were written before all looks at their logs
tail_looks         look at records for the sake of readers that stand before them
time_lag           how old the oldest record is that a reader at an offset has not read, in seconds
writer_clocks      the clocks of those who write records, against ours
hanging            partitions on which a transaction seems to hang
transaction_limit  how long brokers let a transaction be open by default
"""
