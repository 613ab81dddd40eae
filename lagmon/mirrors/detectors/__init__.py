"""What can go wrong with a flow: one detector for each. To add one, see registry.

detector      the shape of all detectors
registry      the detectors of one flow, in order; a new one is one line there
retention     records that retention deleted before the mirror replicated them
recreated     topics that were re-created, and what was lost with them
lost_ends     logs that lost their end, on the source or the target
rewinds       offsets that went back, and records that were replicated again
unreplicated  records and topics that a mirror does not replicate
retimed       records that the target stamps with its own time
"""
