"""The catalogue of all series.

catalogue  every series that the service exposes, each written once
checksum   series of checksums of whole topics
failover   series of failover readiness
lag        series of groups and mirrors, from offsets
process    series of the service process, with the usual names of Prometheus clients
kinds      Series, Label, Kind, Unit and Group
labels     labels that several parts of the product share
page       the reference of all series as Markdown
"""
