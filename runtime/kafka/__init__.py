"""Kafka clients: translated properties, readable errors.

properties       Java client properties, translated for librdkafka
diagnosis        table of librdkafka's errors and sentences
failures         turns librdkafka's errors into Mirrorwatch's
admin_client     creates Admin clients
admin            describes clusters and topics, creates topics
consumer_client  creates consumers that read by assignment
leaders          partitions whose leader answers
topic_ids        which topic ids are usable
positions        log start and log end offsets of many partitions
quick_offsets    offsets of many partitions in one request
sparse_lists     topic lists with less memory
group_offsets    consumer groups by the Admin API: names, offsets, members, commits
group_asker      the process that runs group_offsets
bulk             reads a topic thousands of records at a time
picking          reads a few records from given offsets
gaps             finds the first record after an offset
tail             reads a few small topics now and then
tap              reads records and stamps their arrival
sender           the canary's producer
round_trip       one record to a cluster and back
throttle         sums the throttle times of a client
"""
