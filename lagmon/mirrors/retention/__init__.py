"""Records that retention deleted before the mirror replicated them.

overtaken  records that the source deleted before the mirror had copied them
findings   findings about records that the source deleted before they were replicated
synced     records that retention deleted, counted by offset syncs
emptied    partitions whose log is empty and starts behind where the mirror stands
"""
