"""Prove, partition by partition, that a mirror's target holds what its source holds.

What is compared: `plan_shape` and its neighbours. What each side is made into: `record_hash`, one number for
a record here and in Spark, and `cell_rows`, counts and sums over them. What these tell of each other is pure:

    cell_rows      parts of digests -> one row for each cell, held against the plan
    decode         cells that differ -> single records, or cells that keep what they hold
    naming         single records -> lost, altered, duplicated, extra; or what must be read again
    joining        what is known of partitions -> of the flow: misrouted; and what must be looked up
    retention      what may have expired meanwhile -> no difference
    narrow         records that were read again -> what became of each; latest_by_key: of compacted topics
    causes         a finding -> its cause
    verdicts       all that is known at the end -> records by verdict, coverage, exit status

PySpark is imported in no other package, and in here only by what digests.
"""
