"""Record counts by partition and time bucket, and where they differ.

side      count one side of a plan by Spark, slice by slice
counting  compare the counts of both sides
buckets   counts by time bucket for a document, coarser if there are many
document  the result as sentences and as plain values
"""
