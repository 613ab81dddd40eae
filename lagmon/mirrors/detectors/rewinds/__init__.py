"""Offsets that went back, and records that were replicated again.

rewinds     offsets of one flow's mirror that went back, and the findings that records came again
repeats     what a mirror copied again
replays     whether what came again is no more than one restart of the mirror copies again
steps       a step back in one partition's window
"""
