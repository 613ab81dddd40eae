"""Comparison of two digests: findings, their causes, and the result.

comparison     compare two digests of one plan, before any record is read again
decode         cells that differ, and the single records that they identify
naming         single records and differing cells -> findings, and blocks to read again
joining        results of partitions -> results of the flow
findings       a finding about records and its cause, and blocks to read again
finding_text   one sentence for each finding
latest_by_key  comparison of a compacted topic
retention      records that retention deleted during the comparison
verdicts       findings -> the result: records by verdict, coverage, exit status
"""
