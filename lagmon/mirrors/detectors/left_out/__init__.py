"""Records and topics that a mirror leaves out: filtered, dropped, unread, blocked by a transaction.

missing        records that may be missing, each partition once
behind         records that may be missing, by the growth of partitions
topics_behind  the same by topic, for a mirror that reads as a consumer group
filtered       topics of which the mirror skips every record
passed         records that may be missing by offset syncs, while a topic is busy
unwatched      topics that a mirror replicates although its known configuration excludes them
unread         partitions whose log was not read after the mirror's offset
held           partitions whose committed records are blocked by a hanging transaction
"""
