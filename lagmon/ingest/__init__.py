"""The lag monitor's process: orders in, commits read from `__consumer_offsets` or the Admin API, answers out.

process         the ingest process
orders          what the ingest process is told to do
answers         what the ingest process answers
faults          mistakes of our own that take nothing else along
thread_reading  have a topic read on a thread until told to stop, or until the reading ends by itself
topic_identity  whether a topic that is read to its end, and on
worker_topic    read a topic in which a Connect worker keeps what it knows
watching        watch one cluster's groups
commits         read `__consumer_offsets` of one cluster
intake          take records of `__consumer_offsets` in
columns         read offset and time out of many values of `__consumer_offsets` at once
malformed       what is said of records that could not be read
admin_intake    take in what the Admin API tells of groups, as if it had been read from `__consumer_offsets`
admin_plan      when to ask which group of a cluster
admin_rounds    ask a cluster about its groups, over and over
admin_fallback  what is said where the commits may not be read
connect_states  what Kafka Connect told the service of the mirrors' tasks, as the service hands it on
"""
