"""Record counts by partition and time bucket, and where they differ.

query     the Spark query
side      count one side of a plan, slice by slice
counting  compare the counts of both sides
drawing   counts for a document, coarser if there are many
document  the result as sentences and as plain values
"""
