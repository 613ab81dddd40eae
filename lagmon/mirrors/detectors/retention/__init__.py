"""Records that retention deleted before the mirror replicated them.

losses     records that the source deleted before the mirror replicated them: found and counted
overtaken  such records of one partition, and what bounds their number
findings   findings about records that the source deleted before they were replicated
synced     records that retention deleted, counted by offset syncs
emptied    partitions whose log is empty and starts behind where the mirror stands
"""
