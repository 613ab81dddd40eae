"""The tasks of a mirror: their states, and which partitions each replicates.

worker       what a mirror's worker reports of its tasks
states       what the mirror's own worker says of its tasks, as far as it can be believed
assignments  which task of a mirror carries which partitions, as its worker's configuration topic has it
carriers     which task carries which partitions of a flow, held against how these have moved
"""
