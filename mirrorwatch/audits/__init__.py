"""Checksum runs in the service: those in the store, and those that are posted to it.

following     polls the store for runs, stores posted ones
earlier_runs  earlier runs that were not reported or posted
flow_audit    the state of a flow by its checksum runs
run_document  the document of a finished run, read and checked
json_values   values of a foreign JSON document
views         a flow's checksums for pages, API and table
series        checksum series of `/metrics`
"""
