"""One record followed through all clusters: `mirrorwatch trace`. It reads and changes nothing.

content    the parts of a record, compared and described without its payload; pure
facts      the facts about one flow and the verdict on it; pure
neighbors  what the records around it prove; pure
verdict    where the record is on a target, or why it is not there; pure
choosing   the record on its source cluster, by offset, key or time
clusters   queries to clusters: topics, offsets, records
searching  the facts of one flow, read from both clusters
following  all flows from the record's cluster on, hop by hop
asking     the queries of the command: the store, the clusters
arrival    when the record arrived, exact or as a bound; pure
document   the JSON document of `trace --json`
text       the text output of `trace`
"""
