"""Prove, partition by partition, that a mirror's target holds what its source holds.

inventory/    the topics, partitions and offsets of both clusters, a few records, and MirrorMaker's progress
anchors/      pairs of source and target offsets of the same record
plan/         what is compared: topics, ranges of offsets, and slices to read
spark/        Spark sessions, settings, and error texts
digest/       digests of one side by Spark: a hash for each record, sums for each cell
counts/       record counts by partition and time bucket, and where they differ
compare/      comparison of two digests: findings, their causes, and the result
recheck/      differences that are read again before they are reported
history/      checksum runs in the store
report/       the report of a run: a document, and an HTML page
run           one run over a flow's plan: compare, read again, check that the topics are unchanged
config        the section `checksum` of the configuration

The comparison of digests is pure, and runs in this order:

    cell_rows          partial digests -> one row for each cell, checked against the plan
    differing_cells    cells that differ -> single records, or cells that stay undecoded
    digest_findings    single records -> lost, altered, duplicated, extra; or blocks to read again
    flow_findings      findings of partitions -> findings of the flow: misrouted; and records to look up
    retention          differences that retention may have caused -> unverified
    block_differences  records that were read again -> a verdict for each; latest_by_key: of compacted topics
    findings           a finding -> its cause
    verdicts           all findings -> records by verdict, coverage, exit status

PySpark is imported by `digest`, `counts` and `spark` only.
"""
