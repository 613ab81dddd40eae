"""Topics that were re-created, and what was lost with them.

starts    whether a mirror skipped the start of a re-created source topic
followed  a re-created topic, and the data by which it is followed
findings  findings about a skipped start of a re-created source topic
outcome   whether the start of a re-created source topic was replicated, by the target's growth
losses    what a flow lost with re-created topics, on either side
unlisted  topics with offsets of a mirror that the list of the source's topics lacks
"""
