"""The lag monitor in the service: its process, its settings, its answers as evidence.

monitor          the process of the lag monitor, and polls of its answers
orders           the settings of the process
flow_answers     the last answer about each flow, and how long it is used
collected        last success and errors of its collectors, and clusters that do not answer
evidence         answers about a flow as evidence for its verdict
keeping          the state of its process, stored for the next start
lone_clusters    clusters that are not part of a flow
sync_following   stores offset syncs of the present flows
sync_keeping     stores offset syncs
sync_id_keeping  stores the ids of mirrored topics
"""
