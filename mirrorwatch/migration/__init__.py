"""Moving a flow to another MirrorMaker: `mirrorwatch migrate`. It reads and changes nothing.

positions  the file of the old mirror's positions
mirror     what a mirror has committed, and whether it runs
exporting  the command `migrate export`
seeds      the offsets with which the new mirror starts; pure
checks     whether the new mirror can take over; pure
steps      what is left to do, with commands; pure
opening    the new mirror and the file, for the two commands below
planning   the command `migrate plan`
comparing  records skipped and repeated, by content; pure
verifying  the command `migrate verify`
"""
