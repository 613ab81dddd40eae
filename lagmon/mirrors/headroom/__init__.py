"""How long until retention deletes records that are not replicated yet.

starts     how fast the source's log starts move, partition by partition
estimate   records and seconds until retention overtakes a mirror
partition  the headroom of one partition of a flow
soonest    how soon that is for the flow, as a sentence
"""
