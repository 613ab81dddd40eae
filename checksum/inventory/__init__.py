"""The topics, partitions and offsets of both clusters, a few records, and MirrorMaker's progress.

inventory    read the state of both clusters and a few records, and plan what to compare
topics       ids, partitions and settings of a flow's topics
extents      read over which time the records of each partition spread
connections  clients of both clusters
waiting      wait until MirrorMaker has replicated what the source holds
"""
