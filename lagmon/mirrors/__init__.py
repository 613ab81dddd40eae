"""Mirrors judged from offsets: one flow, its topics on both sides, its lag and its verdict.

facts       what is known of one flow from outside: clusters, offsets, topics, tasks
view        what detectors and texts read: the facts, and what follows from them over time
detector    the shape of all detectors
detectors   the detectors of one flow, in order; a new one is one line there
flow        one flow: its facts, its detectors, and the snapshot that both make
snapshot    a flow at one instant
window      how far one mirror has come, partition by partition
topics      the topics of one flow on both sides
settings    what the settings of a flow's topics say on both sides
ids         ask a cluster for the ids and settings of the topics that flows read and write there
id_rounds   how often the ids of topics are asked for, and for how long one is waited for
cadence     how often the worker of a mirror writes offsets, as the windows of one flow show it
ends        what a flow's topics on the target held at the last few looks, by their names on the source
starts      how fast the source's logs are deleted from, partition by partition
tails       what lies between a mirror's offsets and the ends of the source's logs
growth      by how much a copy has grown since the mirror wrote an offset
distance    from a mirror's offsets to the ends of its copies
sight       where one mirror stands at an instant
standing    which slots stand before records that the source has deleted, and whether their copies stand too
standstill  which partitions of a flow are stalled, and why
soonest     how soon retention reaches what a mirror that is not well has not copied yet, in a sentence
headroom    how far retention is from overtaking a mirror, on one partition
unseen      a flow at which we fail by a mistake of our own
verdict     the verdict on a flow from its offsets, its cause where the evidence gives one, and the sentence
words       sentences about a mirror, by the source of its progress
answers     what is answered about flows
retimed     records that the target stamps with its own time
left_out    records and topics that a mirror leaves out
lost_ends   logs that lost their end, on the source or the target
progress    how far a mirror is
recreated   topics that were re-created, and what was lost with them
retention   records that retention deleted before the mirror replicated them
rewinds     offsets that went back, and records that were replicated again
tasks       the tasks of a mirror
"""
