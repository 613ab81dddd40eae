"""Where a mirror is on each partition, and whether it is behind.

window        how far one mirror has come, partition by partition
steps_back    a step back of a mirror: of an offset, or an offset sync
cadence       how often the worker of a mirror writes offsets, as the windows of one flow show it
tails         what lies between a mirror's offsets and the ends of the source's logs
transactions  topics of a flow on which a transaction was seen open
sight         lag, time lag and status of each partition at an instant
standing      which partitions stand before records that the source has deleted
"""
