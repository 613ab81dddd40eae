"""Records and topics that a mirror leaves out: filtered, dropped, unread, held by a transaction.

missing        records that may be missing, each partition once
behind         records that may have stayed behind
topics_behind  records that may have stayed behind of topics whose mirror reads as a group
filtered       topics of which the mirror leaves every record out
passed         records that a mirror passed and did not copy, seen in its offset syncs while a topic is busy
unwatched      topics that a mirror copies although its configuration, as it was read here, leaves them out
unread         partitions whose log was not read behind the mirror's offset
held           partitions that a hanging transaction holds before a mirror which reads committed records
"""
