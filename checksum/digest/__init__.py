"""Digests of one side by Spark: a hash for each record, sums for each cell.

spark_digests   digests and counts in one Spark session
side            digest one side of a plan, after a check for unexpected headers
slices          slices of a side, each read when its rate allows
query           the Spark query of a digest, and the last record of each key of a compacted topic
hash_columns    the hash of a record as Spark columns
header_columns  the hash and size of a record's headers as Spark columns
small_table     a few rows as a Spark table, without a Python worker
kafka_options   client properties as options of Spark's Kafka source
files           a digest as Parquet files
coverage        whether slices are of this plan and cover its ranges
cell_rows       the row of a cell: a record count, and sums from which differences are decoded
record_hash     the hash of a record in Python
record_hashes   the hashes of many records
xxhash64        XXH64 as Spark's `xxhash64` chains it
xxhash64_many   XXH64 of many values, in columns
"""
