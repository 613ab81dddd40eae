"""Judge mirrors from offsets: one flow, its topics on both sides, its lag and its verdict.

In the order in which data passes:

progress      how far a mirror is: Connect offsets, groups, equal offsets, offset syncs
tasks         the tasks of a mirror, from its worker
metadata      topics of a flow on both sides: names, ids, settings
facts         what is known of one flow from outside: clusters, offsets, topics, tasks
partitions    where the mirror is on each partition, and whether it is behind
target_ends   log ends of target topics, and what they show of the mirror
headroom      how long until retention deletes records that are not replicated yet
view          what detectors and texts read: the facts, and what follows from them over time
detectors     what can go wrong: one detector for each fault
flow          one flow: its facts, its detectors, and the snapshot that both make
snapshot      a flow at one instant
stall_causes  which partitions of a flow are stalled, and why
verdict       the verdict on a flow, its cause if the evidence gives one, and the sentence
sentences     sentences about a mirror, by the source of its progress
failed_flow   the snapshot and verdict of a flow whose judgement failed with a bug of Mirrorwatch
answers       documents about flows
"""
