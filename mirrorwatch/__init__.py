"""The composition root: command line, service, pages and API. It wires everything and decides nothing.

cli/            the command line: one module for each group of commands
check/          `mirrorwatch check`: the configuration explained, the clusters asked, permissions and cost
configuration/  a configuration: read from YAML, mm2.properties, Strimzi or Connect; validated; reloaded
service/        the running service: it wires everything, judges each flow, and shows what it knows
lag/            the lag monitor as the service has it: its process, its orders, its answers as evidence
history/        what is kept over time: incidents, minutes, budgets; and the reports
audits/         what the service knows of checksum runs: those in the store, and those that are posted to it
checksums/      the commands of the checksum: plan, run, digest, compare, and counts
web/            what is answered over HTTP: pages, documents, and the words that both share
api/            the API as a table of operations, from which the OpenAPI document is made
"""
