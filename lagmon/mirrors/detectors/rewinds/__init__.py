"""Offsets that went back, and records that were replicated again.

rewinds  offsets of one flow's mirror that went back, and the findings about repeated records
repeats  the records that a mirror replicated again, as events
replays  whether a repeat is no more than one restart of the mirror explains
steps    a step back in one partition's window
"""
