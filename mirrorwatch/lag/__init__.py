"""The lag monitor as the service has it: its process, its orders, its answers as evidence.

lagging          the lag monitor as the service has it
orders           the orders to the lag monitor
book             what the lag monitor last said of each flow, and for how long that is believed
collected        when the lag monitor last read what of each cluster, how often not, and which are away
evidence         what the lag monitor answers about a flow, as evidence for its verdict
keeping          what the lag monitor's process knows
lone_clusters    clusters that no flow touches
sync_following   offset syncs kept of the flows of which they are read, whichever these are at the moment
sync_keeping     offset syncs kept by the service
sync_id_keeping  the ids of mirrored topics, kept beside their offset syncs
"""
