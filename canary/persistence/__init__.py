"""What the canary keeps in the store, and how a next process continues.

bookkeeper  the canary's memory
history     read the minutes that are in the store
latches     latches
leases      which processes are at work on one store
saving      the two transactions of the canary's memory
tables      what the canary keeps in the store
heritage    what the store knows of a flow that begins to be watched
"""
