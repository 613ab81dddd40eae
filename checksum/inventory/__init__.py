"""What both clusters hold: topics, partitions, a few records, and how far the mirror is.

inventory    look at both clusters of a flow and plan what to compare
topics       what both clusters say of a flow's topics
sampling     read a few records of each topic
connections  clients of both sides of a flow, open for as long as they are asked something
waiting      wait until a flow's mirror has passed what the source holds
"""
