"""A synthetic record per source partition and tick, timed at every step by one process.

config        section `canary` of the configuration, and what a flow may set of it
flows         settings of a flow for the canary, and its state while it runs
roster        flows, clusters and senders that are watched
prober        loops of the canary
inbox         queue from the threads of taps and senders to the event loop
dispatch      passes each event to the trackers concerned
tracker/      tracker of one flow: events in, outcomes of probes out
watch/        what the canary knows of a flow besides its probes, and the evidence for its verdict
site/         one cluster: topics of the canary, producers, taps, control probes
persistence/  what the canary keeps in the store, and how the next process takes over
self_check    the prober checks its own parts
report        problems and error counts that the canary reports to the service
"""
