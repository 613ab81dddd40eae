"""`mirrorwatch check`: explains a configuration, queries the clusters, lists permissions and cost.

check             the command, its result and exit status
clusters          queries to the clusters
configured        the configuration: files, clusters, flows, warnings
cost              cost of the canary
cost_text         cost of the canary as text
document          the JSON document of `check --json`
hops              the canary topics beyond the first hop
mirror_clients    what a MirrorClient answers about each cluster
mirrored          topics of a source by what the flow does with them
mirrored_text     topics as text
no_canary         flows without a canary and the remedy
permissions       permissions of `run`, the lag monitor and the checksum
permissions_text  permissions as text and kafka-acls commands
sheet             the text output: headings, sentences, tables
topics            problems of Mirrorwatch's existing topics
"""
