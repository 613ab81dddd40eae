"""The catalogue of all series.

catalogue  the catalogue of every series that the service exposes, each written once
checksum   series of checksums of whole topics
lag        series of groups and mirrors, from offsets
process    the series of the service's own process, under the names that every Prometheus client gives them
kinds      what a series is
labels     the labels that series of several parts of the product share
page       write the reference of all series as Markdown
"""
