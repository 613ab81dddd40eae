"""Strimzi's resources as connectors and clusters.

mirror      a KafkaMirrorMaker2 of Strimzi as connectors and their worker
clusters    one cluster of a Strimzi resource as the client properties that its operator makes of it
connectors  KafkaConnector resources of Strimzi as connectors
files       what the resources of one file say of mirrors
kubernetes  resources of Kubernetes in a file
"""
