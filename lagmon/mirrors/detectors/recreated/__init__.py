"""Topics that were re-created, and what was lost with them.

beginnings  whether a mirror skipped the start of a re-created source topic
followed    a topic that was re-created, and what its flow is followed by
findings    findings about a skipped start of a re-created source topic
passage     whether the start of a re-created source topic was replicated, by the target's growth
losses      what a flow lost with re-created topics, on either side
unlisted    topics that a mirror wrote offsets of and that the list of its source's topics does not show
"""
