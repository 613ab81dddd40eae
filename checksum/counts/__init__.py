"""Counts by partition and bucket of time, and where they differ.

document  what a pass over counts found as sentences and as plain values
drawing   counts by partition and bucket for a document
query     the query of a pass over counts
side      count one side of a plan, slice after slice, by partition and bucket
counting  counts of both sides by partition and bucket -> where they differ
"""
