"""The checksums in the store: runs, findings, and how far each partition is verified.

book       the book of checksums in the store
counts     how many records each side holds in a bucket of time, of the cells that a run digested
documents  a run's document as the store holds it, and the columns of its row
entries    what the store keeps of checksums, as plain values
rows       rows of the checksums' tables, read and written within the caller's transaction
tables     the tables of checksums in the store
"""
