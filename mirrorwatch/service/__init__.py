"""The running service: it wires everything, judges each flow, and shows what it knows.

service           the running service
keeping           each cluster's site kept at work under supervision
judging           the judging of every flow
current           what holds of a flow right now
recovery_point    how old the oldest record is that a target may lack, by the canary and by offsets
view              what the outside may see of a running service
viewing           draw up what the outside may see of a running service
unreached         brokers that no probe of a flow reaches
samples           the samples behind `/metrics`, collected from each part
metrics           what Prometheus scrapes
event_log         which events are to be logged
verdict_lines     log lines about verdicts
stale_complaints  which complaints speak of what is watched no more
latching          the prober's latches and those of the store, kept the same
namesakes         other processes at work on the store under the name of this one
connect_looks     one poll of the states of connectors
connect_watching  ask Kafka Connect again and again how the mirrors' connectors and tasks are
store_parts       what one store holds
"""
