"""How far a mirror is: Connect offsets, consumer groups, equal offsets, offset syncs.

sources          one reader for each place that holds the progress of mirrors
following        follow a mirror whose progress is in what the watches of its clusters read anyway
connect          read a Connect offsets topic
intake           take in records of a Connect offsets topic
equal            the progress of a mirror that keeps offsets equal
group            the progress of a mirror that reads as a consumer group
group_sentences  sentences about a mirror's groups
first_offsets    the first offset to replicate of a partition without an offset
movement         the part of a flow's document that the service joins with its canary
"""
