"""Strimzi's resources as connectors and clusters.

kubernetes  resources of Kubernetes in a file
files       mirrors in the resources of one file
mirror      a KafkaMirrorMaker2 as connectors and their worker
connectors  KafkaConnector resources as connectors
clusters    one cluster of a resource as client properties
"""
