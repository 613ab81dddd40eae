"""Logs that lost their end, on the source or the target.

cut      one source log that lost its end
cuts     source logs that lost their end while the mirror had copied further
passage  what a mirror made of a source log that lost its end, once it has written another offset
steps    what comes again over a source's log that has lost its end
target   a copy that lost the end of its log, as by an unclean election on the target
"""
