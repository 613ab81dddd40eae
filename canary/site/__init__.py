"""One cluster: topics of the canary, producers, taps, control probes.

site           one cluster while it is watched
topics         the canary's topics on one cluster, and their changes
start_offsets  where a tap starts with a new topic
reader         the taps of one cluster
intake         turns what taps and producers report into events
probing        topic, schedule and producer of one source
sending        sends each probe when it is due, on its own thread
control        control probes
mirror_topics  MirrorMaker's heartbeats and task assignments
topic_checks   compares partitions, rate and settings with the plan
topic_advice   what is wrong with a topic's settings, and what to do
record_sizes   size of a probe in the log
throttling     reports quotas that throttle the canary
"""
