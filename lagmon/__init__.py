"""Groups and mirrors judged from offsets: who moves, how far behind, and what retention will take.

ingest/      the lag monitor's process: orders in, commits read from `__consumer_offsets` or the Admin API
cluster/     what is known of one cluster: its groups, topics, members, and how current that is
logs/        the logs of partitions: start, end, timestamps, and what is readable at their end
arrays/      arrays and tables that hold many rows in little memory
groups/      consumer groups: windows of their commits, verdicts, and the documents about them
mirrors/     mirrors judged from offsets: one flow, its topics on both sides, its lag and its verdict
failover/    where groups would start on the target, and what they would read again or miss
drift/       what makes a target differ from its source: topics, partitions, configurations, ACLs
syncs/       offset syncs of MirrorMaker: read, thinned, kept in the store, and asked for
snapshots/   what the lag monitor's process keeps over a restart
exposition/  large families of series for `/metrics`, written from arrays
burrow/      Burrow's API and Burrow's rules, exactly as Burrow has them
config       the section `lag` of the configuration
"""
