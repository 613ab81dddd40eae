"""A local stack of real Kafka brokers and a real MirrorMaker, for demo, tests and benchmarks only.

    jars      Kafka's jars, from the Maven cache and checked against committed sums
    java      the command line of a Java process
    classes   the cache made ready, for quick starts
    process   one child process: started, stopped, killed, frozen, and never left behind
    several   processes that are up together, and gone together
    waiting   look until something holds, never longer than a deadline
    ports     free TCP ports below the range of outgoing connections
    properties  Java properties files, written as Java reads them
    security  certificates and SCRAM users of a secured broker
    broker    one KRaft node that is broker and controller
    server_properties  the settings of such a node
    cluster   three such nodes that are one cluster
    replicas  where a cluster's replicas are, and how they are moved
    mirror    one dedicated MirrorMaker
    transform our own transformation, which drops or changes records while a file says so
    pair      brokers A and B with a MirrorMaker between them
    service   Mirrorwatch itself, in a process of its own
    monitoring  Prometheus and Alertmanager with the rules and routes that Mirrorwatch renders
    topics    delete records, re-create topics, add partitions
    traffic   records as an ordinary application would produce them, in a process of its own
    proxy     a TCP proxy that cuts or delays the mirror's connections to the source
    strangers random, truncated and hostile records, as other programs might write them
    quotas    hold clients back
    fault     what a fault is: a sentence, how it begins and how it ends
    stage     a running stack as another process sees it
    acts      what faults are made of (acts, acts_topics)
    faults    the register of what can be made to go wrong (faults, faults_of_mirrors, faults_of_topics)
    demo      all of it at once, for people

Kafka's version is that of the environment variable MIRRORWATCH_KAFKA (4.3.0 unless set, or 3.9).
"""
