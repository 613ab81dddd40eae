"""Topics that were re-created, and what was lost with them.

beginnings  whether a mirror passed over the beginning of a source topic that was made anew
followed    a topic that was re-created, and what its flow is followed by
findings    what is told of a source topic that was made anew and whose beginning the mirror passed over
passage     whether the beginning of a source topic that was made anew was copied, out of a copy's growth
losses      what a flow lost with topics that were made anew, on either side
"""
