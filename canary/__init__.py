"""A synthetic record per source partition and tick, timed at every step by one process.

tracker/      the tracker of one flow: events in, outcomes of probes out
watch/        what the canary knows of a flow besides its probes, and the evidence for its verdict
site/         one cluster at work: topics of the canary, producers, taps, control probes
persistence/  what the canary keeps in the store, and how a next process continues
config        the section `canary` of the configuration, and what a single flow may set of it
dispatch      to the trackers
doubt         the prober doubts itself
flows         the settings of a flow for the canary, and its state while it runs
inbox         what taps, senders and schedules bring on their threads
prober        the canary at work
report        problems and error counts that the canary reports to the service
roster        what is watched
"""
