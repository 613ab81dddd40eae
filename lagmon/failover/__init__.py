"""Where consumer groups would start on the target of a flow, and what they would read again or miss. Pure.

places       between which target offsets a record, or a group's next one, is, from offset syncs
rehearsal    the steps of a planned failover
readiness    a group on a flow, judged per partition and as a whole
sentences    the judgement in words
translation  a group's offset on the target for its committed offset on the source
"""
