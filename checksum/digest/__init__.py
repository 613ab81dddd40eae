"""Digests of one side by Spark: a hash for each record, sums for each cell.

side            digest one side of a plan
coverage        whether the slices of a digest are of this plan, and cover its ranges exactly
files           a side's digest as Parquet files, on any file system that Spark knows
query           the one query of a digest
cell_rows       what a digest says of one cell
hash_columns    the canonical hash of a record as Spark's built-in column functions
header_columns  what of a record's headers is hashed and counted, as columns that Spark compiles
header_guard    whether records of a topic have headers that the plan does not know of
kafka_options   a cluster's client properties as options of Spark's Kafka source
small_table     a few rows of ours as a table of Spark, without a process of Python between them
spark_digests   digests by Spark for those who know nothing of it
record_hash     one 64-bit number for a record, the same here and in Spark
record_hashes   hashes of many records at once
xxhash64        XXH64 as Spark's `xxhash64` chains it
xxhash64_many   XXH64 of many values at once, as columns
paced           what of a side is left to read, slice after slice, each once it is due
compacted       a compacted topic is compared by the last record of each key
"""
