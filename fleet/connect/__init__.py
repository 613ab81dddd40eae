"""Kafka Connect: connectors as clusters and flows, states of tasks.

connectors     connectors on a Kafka Connect worker as a topology
clients        clusters from connectors
flows          flows from connectors
json           connectors in JSON: the list that a worker's REST address gives
kinds          one connector and its worker, as plain properties with the places where they are written
several        several mirrors in one file
config_states  what is worth saying of the state of a mirror's connectors
states         what a Connect worker's REST address says of connectors and their tasks while they run
task_deals     what a mirror's tasks are to carry
"""
