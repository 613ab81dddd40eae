"""Kafka clients: Java client properties become librdkafka's settings, and its errors become sentences.

admin            what we ask a cluster about itself
admin_client     the one way to make a client that asks a cluster about itself
bulk             A bulk reader
consumer_client  the client that reads by assignment
diagnosis        what librdkafka's errors mean
failures         turn what librdkafka says into a sentence
gaps             look for the first record from an offset on, and its time
group_asker      `python -m runtime.kafka.group_asker`
group_offsets    consumer groups by the Admin API: names, offsets, members
leaders          which partitions are worth asking about
picking          pick records out of partitions
positions        where the logs of a cluster's partitions begin and end
quick_offsets    offsets of many partitions at once, over a consumer that reads nothing
round_trip       one record to a cluster and back from the same one
sender           the canary's producer
sparse_lists     lists of topics of which the client keeps, for each partition, its leader alone
tail             A tail
tap              A tap
throttle         how long brokers have held back the answers to one of our clients, because of a quota on it
topic_ids        which topic ids are usable
properties       java client properties translated for librdkafka
"""
