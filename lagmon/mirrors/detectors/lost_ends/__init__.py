"""Logs that lost their end, on the source or the target.

cut      one source log that lost its end
cuts     source logs that lost their end before the mirror's offset
outcome  what a mirror skipped or repeated after its source log lost its end
steps    records that are replicated again after a source log lost its end
target   a target log that lost its end, for example by an unclean leader election
"""
