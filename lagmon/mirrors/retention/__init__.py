"""Records that retention deleted before the mirror replicated them.

overtaken  records that the source deleted before the mirror had copied them
findings   what is told of records that the source deleted before they were copied
synced     what a mirror's offset syncs tell of records that retention took
emptied    partitions whose log is empty and starts behind where the mirror stands
"""
