"""A configuration: read from YAML, mm2.properties, Strimzi or Connect; validated; reloaded.

sections        sections mm2, connect, mirror_version, clusters and flows, and the model of the whole file
reading         reads a configuration
configuration   the validated configuration
reference       the reference of all keys as Markdown
text            content of a file as Mirrorwatch's own YAML or as an mm2.properties
forms           formats of files that describe a mirror
validation      validates the sections of a YAML file
problems        problems of a configuration: each once, in order, without secrets
mirror          the mirror's own file: its clusters and flows, the lines of its keys, its secrets
lag_sources     the source of each flow's progress
burrow_names    names of clusters under /v3, Burrow's API
connect         a mirror on Kafka Connect, read from its REST API
connect_rest    requests to the REST API of Kafka Connect, and errors for unusable answers
connect_files   a mirror on Kafka Connect from a file
connect_places  connectors without secret values, and the keys of a cluster's properties in them
connect_url     the address of a Connect worker as an operator writes it
flow_canaries   the canary of each flow: its topics, or the reason why it has none
changes         differences between the running configuration and one that was read again
reloading       applies another configuration while the service runs
"""
