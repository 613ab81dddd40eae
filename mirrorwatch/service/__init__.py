"""The running service: connects all parts, judges each flow, and shows the results.

service              start, tasks and shutdown
keeping              runs each cluster's site under supervision
judging              judges every flow
flow_status          a flow's present state, apart from a past one
recovery_point       the recovery point by canary and offsets
view                 the state of the service as frozen records
viewing              creates the view
unreached            brokers that no probe of a flow reaches
samples              the samples behind `/metrics`, collected from each part
metrics              renders samples for Prometheus
event_log            log lines about events and verdicts
resolved_problems    problems about things that are no longer watched
leading              which replica of a group leads
latching             latches of the prober and of the store
duplicate_processes  other processes with this name on the store
connect_states       states of connectors by Kafka Connect
connect_watching     polls Kafka Connect
store_parts          the schema of the store
"""
