"""The lag monitor's process: it reads commits from `__consumer_offsets` or the Admin API and answers.

process         the ingest process
orders          its settings, sent by the service
answers         its answers to the service
faults          log of programming errors
thread_reading  reading a topic on a thread until it is stopped or ends
topic_identity  whether a topic is still the one that is being read
worker_topic    reader of an internal topic of Connect workers
watching        watch over one cluster's groups
commits         reader of `__consumer_offsets` of one cluster
intake          adds records of `__consumer_offsets` to the windows of groups
columns         offsets and times of many values of `__consumer_offsets` at once
malformed       log message about records that cannot be read
admin_intake    adds answers of the Admin API to the windows of groups
admin_plan      when to poll which group with the Admin API
admin_rounds    polls a cluster's groups with the Admin API
admin_fallback  what happens without permission to read commits
connect_states  states of mirrors' tasks, reported by Kafka Connect to the service
"""
