"""Where a flow's target topics end, and what that shows of the mirror.

ends      what the target topics held at the last few polls
growth    by how much a target topic has grown since the mirror wrote an offset
distance  from a mirror's offsets to the ends of its target topics, as bounds
"""
