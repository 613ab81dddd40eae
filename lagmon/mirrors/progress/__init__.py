"""How far a mirror is: Connect offsets, consumer groups, or equal offsets.

sources      one reader for each place that holds the progress of mirrors
following    follow a mirror whose progress is in what the watches of its clusters read anyway
connect      read a Connect offsets topic
intake       take records of a Connect offsets topic in
equal        how far a mirror is that keeps offsets equal
group        how far a mirror is that reads as a consumer group
group_words  what is said of a mirror's groups
beginnings   from where on a mirror is known to have to copy a partition of which it has written no offset
movement     what the service joins with its canary
"""
