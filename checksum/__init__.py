"""Prove, partition by partition, that a mirror's target holds what its source holds.

inventory/    what both clusters hold: topics, partitions, a few records, and how far the mirror is
anchors/      pairs of source and target offsets of the same record
plan/         what is compared: topics, ranges of offsets, and slices to read
spark/        sessions, settings, failures in plain sentences
digest/       digests of one side by Spark: a hash for each record, sums for each cell
counts/       counts by partition and bucket of time, and where they differ
compare/      two digests compared: findings, their causes, and the result of an audit
second_look/  records that are read again before anything is reported
book/         the checksums in the store
report/       the report of a run: a document, and a page of HTML
run           one pass over a flow's plan: digest both sides, compare, read again, report
config        the section `checksum` of the configuration

The comparison of digests is pure, and runs in this order:

    cell_rows      parts of digests -> one row for each cell, held against the plan
    decode         cells that differ -> single records, or cells that keep what they hold
    naming         single records -> lost, altered, duplicated, extra; or what must be read again
    joining        what is known of partitions -> of the flow: misrouted; and what must be looked up
    retention      what may have expired meanwhile -> no difference
    narrow         records that were read again -> what became of each; latest_by_key: of compacted topics
    causes         a finding -> its cause
    verdicts       all that is known at the end -> records by verdict, coverage, exit status

PySpark is imported in no other package: only by `digest`, `counts` and `spark`.
"""
