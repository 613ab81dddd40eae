"""Offset syncs of MirrorMaker: read, thinned, stored, and queried.

answers    answers of the ingest process about offset syncs
id_tables  ids of the topics that offset syncs are about
intake     counts and filters records of a topic of offset syncs
polls      polled log ends, for readers of offset syncs
orders     the topic of a flow's offset syncs, as an order to the process
pairs      offset syncs of one partition, and the target offset of a source offset
progress   how far a mirror is by its offset syncs (`lag_from: offset-syncs`)
queue      offset syncs of one flow that wait for the store
reader     reader of a flow's topic of offset syncs
runs       runs of offset syncs with the same distance to the target's log end
sources    one reader for the offset syncs of each flow
tables     offset syncs in the store
thinning   which offset syncs of a partition are kept
"""
