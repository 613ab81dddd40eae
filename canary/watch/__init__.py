"""What the canary knows of a flow besides its probes, and the evidence for its verdict.

watch             one flow as the canary knows it
glance            numbers of all partitions of a flow together, for pages and series
calm              whether a flow is plainly well, found by one quick walk over its partitions
findings          what a flow's watch found lost, altered, misrouted or repeated
suspicion         what makes the prober suspect a part of itself, from what was noted of that part
second_writer     whether two writers copy one partition at once, by probes that come twice as they are sent
strangers         records that are no intact probes on the source already
flow_evidence     put together what the canary
mirror_positions  how far the mirror itself says that it is with the canary's topic
mirror_tasks      which task of the mirror carries which partitions of the canary's topic
heartbeats        the heartbeats of one flow's mirror
unreached         brokers that lead no partition of the canary's topic or of its copy
"""
