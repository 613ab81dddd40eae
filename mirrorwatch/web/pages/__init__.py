"""Contents of pages, and their charts.

page           renders templates, serves static files
picture        the topology as a picture
arrows         arrows between boxes
layers         columns for clusters of a chain
charts         the chart of latency by stage
budget_chart   the remaining error budget over a period
groups         pages about groups
group_picture  the picture of one partition of a group
incidents      pages about flows and incidents
mirrors        the page about a flow's offsets
runbooks       runbooks as HTML
checksums      the page of a checksum run
"""
