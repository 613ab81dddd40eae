"""Records that retention deleted before the mirror replicated them.

losses     finds and counts them
overtaken  such records of one partition, and what bounds their number
findings   findings about them
synced     their number by offset syncs
unstored   such records of partitions of which the mirror had no offset
emptied    partitions with an empty log that starts after the offset of a stalled mirror
"""
