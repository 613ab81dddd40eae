"""Where a mirror is on each partition, and whether it is behind.

window        a mirror's offsets, partition by partition, and how often they are written
steps_back    an offset of a mirror, or an offset sync, before the previous one
tails         what lies between a mirror's offsets and the ends of the source's logs
transactions  topics of a flow that have had an open transaction
snapshot      lag, time lag and status of each partition at an instant
stalls        partitions that are stalled before records that the source has deleted
"""
