"""Kafka Connect: connectors as clusters and flows, states of tasks.

json           connectors in JSON: a worker's REST answer, and files
kinds          one connector and its worker, with the places of their properties
clients        client properties of each cluster
flows          flows of the connectors
connectors     connectors of a worker as a topology
several        several mirrors in one file
states         states of connectors and tasks, from the REST API
config_states  which states are problems
task_deals     partitions of a mirror's tasks, from the configuration topic
"""
