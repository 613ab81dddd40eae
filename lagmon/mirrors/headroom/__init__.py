"""How long until retention deletes records that are not replicated yet.

starts    how fast the source's log starts move, partition by partition
room      the headroom of one partition: the calculation
of_slot   the headroom of one partition of a flow, by its slot
soonest   how soon that is for the flow, as a sentence
"""
