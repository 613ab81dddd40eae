"""The routes, by subject.

main       what the service answers to browsers and scripts
about      what the service answers about its API: the OpenAPI document
checksums  checksum runs: POST, JSON and pages
counts     how many records both sides of a flow held of a topic, bucket of time by bucket, as JSON.
groups     the pages about groups
incidents  pages about flows, incidents and checksums, and the API of incidents
lag        what the service answers about groups to scripts
mirrors    what offsets say of one flow, partition by partition
orders     reload the configuration, resume a canary
scrape     answer one scrape
upkeep     what the service answers to Prometheus and to whoever looks after its process
while_on   the routes of what the lag monitor knows
"""
