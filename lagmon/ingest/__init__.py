"""The lag monitor's process: orders in, commits read from `__consumer_offsets` or the Admin API, answers out.

process         the ingest process
orders          the orders to the ingest process
answers         what the ingest process answers
faults          mistakes of our own that take nothing else along
thread_reading  reading a topic on a thread until it is stopped or ends
topic_identity  whether a topic that is read to its end, and on
worker_topic    read a topic in which a Connect worker keeps what it knows
watching        watch one cluster's groups
commits         read `__consumer_offsets` of one cluster
intake          take records of `__consumer_offsets` in
columns         read offset and time out of many values of `__consumer_offsets` at once
malformed       what is said of records that could not be read
admin_intake    records of groups made from answers of the Admin API
admin_plan      when to ask which group of a cluster
admin_rounds    ask a cluster about its groups, over and over
admin_fallback  what is said where the commits may not be read
connect_states  states of tasks that Kafka Connect reported to the service
"""
