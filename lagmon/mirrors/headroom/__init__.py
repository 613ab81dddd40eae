"""How long until retention deletes records that are not replicated yet.

starts    how fast the source's logs are deleted from, partition by partition
room      how far retention is from overtaking a mirror, on one partition: the calculation
of_slot   the same of a flow, by the slot of a partition
soonest   how soon that is for the flow, in a sentence
"""
