"""What the lag monitor's process keeps over a restart.

whole    what the lag monitor's process takes up of the one before it, and what it hands on to the next
cluster  what one cluster's topics cannot give back, as frames
file     the parts of a snapshot in one file
flow     what no topic gives back of a flow, as one frame
frames   a part of what is kept over a restart, as bytes
holding  findings that hold for as long as they are seen, and what came again, as rows for a restart
losses   losses by re-created topics, and ends of target logs, as rows for a restart
marks    what is kept of single partitions of a cluster beside where their logs ended
reading  values of a document that was kept over a restart, each checked before it is believed
store    what the lag monitor's process knew, in the store
"""
