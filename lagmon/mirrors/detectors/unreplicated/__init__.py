"""Records and topics that a mirror does not replicate: filtered, dropped, unread, blocked by a transaction.

missing            records that may be missing, each partition once
missing_by_ends    records that may be missing, by the growth of partitions
missing_by_topic   the same by topic, for a mirror that reads as a consumer group
missing_by_syncs   the same by offset syncs, while a topic is busy
filtered           topics of which the mirror skips every record
unwatched          topics that a mirror replicates although its known configuration excludes them
unread             partitions whose log was not read after the mirror's offset
blocked            partitions whose committed records are blocked by a hanging transaction
"""
