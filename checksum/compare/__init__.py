"""Comparison of two digests: findings, their causes, and the result.

differing_cells  cells that differ, and the single records that they identify
digest_findings  compare two digests: findings that they prove, and blocks to read again
flow_findings    findings of partitions -> findings of the flow
findings         a finding about records and its cause, and blocks to read again
finding_text     one sentence for each finding
latest_by_key    comparison of a compacted topic
retention        records that retention deleted during the comparison
verdicts         findings -> the result: records by verdict, coverage, exit status
"""
