"""A configuration: read from YAML, mm2.properties, Strimzi or Connect; validated; reloaded.

sections        the sections of the configuration that belong to no part
reading         read a configuration
configuration   what a configuration comes to
reference       the reference of all keys as Markdown
text            the bytes of a configuration, as Mirrorwatch's own YAML or as an mm2.properties
forms           in which form a file describes a mirror
validation      validate the sections of a YAML file
problems        problems of a configuration: each once, in order, without secrets
mirror          the mirror's own file as it bears on a configuration
lag_sources     from what it is known how far each flow has come
burrow_names    how Burrow's users call the clusters
connect         a mirror on Kafka Connect, asked at its REST address
connect_asking  what Kafka Connect answers at its REST address, or a sentence on why that is no answer
connect_files   a mirror on Kafka Connect from a file
connect_places  what connectors hold that may be shown, and where a cluster's properties stand in them
connect_url     the address of a Connect worker as a person writes it
flow_canaries   which flows have a canary, by what topic, and why the others have none
changes         what a configuration that was read anew changes of the one that runs
reloading       take over another configuration while the service runs
"""
