"""Log ends of a flow's target topics, and what they show of the mirror.

ends      what the target topics held at the last few polls
growth    how much a target topic has grown since the mirror wrote an offset
distance  from a mirror's offsets to the ends of its target topics, as bounds
"""
