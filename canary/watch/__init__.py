"""What the canary knows of a flow besides its probes, and the evidence for its verdict.

watch             one flow: its tracker, measurements and findings
flow_summary      numbers over all partitions of a flow, for pages and series
health            quick test whether a flow is healthy
findings          lost, altered, misrouted and repeated probes
prober_faults     faults of the prober's own parts
foreign_records   records on the source that are not intact probes
second_writer     proof that two writers copy one partition
mirror_positions  the mirror's committed offsets in the canary's topic
mirror_tasks      task that replicates each partition of the canary's topic
heartbeats        heartbeats of one flow
flow_evidence     evidence for a verdict on one flow
unreached         brokers that no probe passes through
"""
