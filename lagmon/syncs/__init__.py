"""Offset syncs of MirrorMaker: read, thinned, kept in the store, and asked for.

answers    what the ingest process answers about offset syncs
id_tables  which topics, by their ids, the pairs of offset syncs are about
intake     take records of a topic of offset syncs in, each counted as what it was
looks      where logs ended at the last look of a cluster's watch, for who reads offset syncs
orders     where a flow's mirror writes its offset syncs, as an order to the process
pairs      offset syncs of one partition, and the target offset of a source offset
progress   how far a mirror is by its offset syncs, where nothing else may be read (`lag_from
queue      offset syncs of one flow on their way to the store
reader     read a flow's topic of offset syncs
runs       runs of a mirror's offset syncs with the same distance to the target's log end
sources    one reader for the offset syncs of each flow whose mirror writes them
tables     what the store keeps of offset syncs
thinning   which offset syncs of a partition stay
"""
