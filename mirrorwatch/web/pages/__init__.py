"""The pages: what their templates show, and their charts.

page           the status page as HTML: templates and static files, loaded once, and a view drawn with them
picture        the flows as a picture
arrows         arrows between boxes
layers         columns for clusters that pass records on
charts         the small chart of latency by stage
budget_chart   how much of an error budget was left over a period
groups         what the pages about groups show
group_picture  the picture of one partition of a group
incidents      what the pages about flows and incidents show, made ready for their templates
mirrors        what the page about a flow's offsets shows
runbooks       runbooks as HTML: what an alert or a cause means and what to do, as the package carries it
checksums      the page of a checksum's run, drawn with the house's own style sheet
"""
