"""The routes, by subject.

main         the status page, its static files, /api/v1/flows
about        the OpenAPI document
checksums    checksum runs: POST, JSON and pages
counts       record counts on both sides of a topic, by time interval
failover     how groups would start on the target
groups       pages about groups
incidents    pages about flows, incidents and checksums; the API of incidents
lag          groups for scripts: Burrow's API and /api/v1/groups
mirrors      one flow's offsets by partition
operator     reload the configuration, resume a canary
replicas     answers for all shards of a group of replicas
scrape       answers one scrape
health       /metrics, health and readiness
standby      the answers of a standby
lag_monitor  routes that answer only while the lag monitor is on
"""
