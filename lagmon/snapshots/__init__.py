"""State of the lag monitor's process that is kept over a restart.

whole    restores the state of an earlier process, and returns the current one
cluster  state of one cluster that its topics do not hold
file     the parts of a snapshot in one file
flow     state of one flow that no topic holds
frames   a part of a snapshot as bytes
holding  findings that hold while they are seen, and replays, as rows
losses   losses by re-created topics, and ends of target logs, as rows
marks    state of single partitions of a cluster, besides log ends
reading  checked values of a stored document
store    snapshots in the store
"""
