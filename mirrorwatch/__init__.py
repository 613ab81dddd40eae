"""The composition root: connects all parts and decides nothing.

cli/            the command line: one module for each group of commands
check/          `mirrorwatch check`: explains a configuration, queries the clusters
configuration/  reads a configuration from YAML, mm2.properties, Strimzi or Connect; validates and reloads it
service/        the running service: connects all parts, judges each flow, shows the results
lag/            the lag monitor in the service: its process, its settings, its answers as evidence
failover/       `mirrorwatch failover`
trace/          `mirrorwatch trace`
drift/          `mirrorwatch drift`
migration/      `mirrorwatch migrate`
history/        stored history: incidents, minutes, budgets; and reports
audits/         checksum runs in the service
checksums/      the checksum commands: plan, run, digest, compare
web/            HTTP: pages, JSON documents, and the texts that both share
api/            the API as a table of operations; the OpenAPI document
"""
