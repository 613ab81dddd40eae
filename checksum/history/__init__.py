"""Checksum runs in the store: results, positions, and counts.

history    start and finish runs, and read their results
documents  a run's document as the store keeps it, and its row
entries    runs, positions and counts as plain values
counts     counts by time bucket from the cells of a run
rows       rows of the tables, within the caller's transaction
tables     the tables, and their migrations
"""
