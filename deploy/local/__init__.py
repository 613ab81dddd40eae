"""A local stack of real Kafka brokers and a real MirrorMaker, for demo, tests and benchmarks only.

    jars      Kafka's jars, from the Maven cache and checked against committed sums
    java      the command line of a Java process
    classes   the cache made ready, for quick starts
    process   one child process: started, stopped, killed, frozen, and never left behind
    ports     free TCP ports below the range of outgoing connections
    security  certificates and SCRAM users of a secured broker
    broker    one KRaft node that is broker and controller
    mirror    one dedicated MirrorMaker
    transform our own transformation, which drops or changes records while a file says so
    pair      brokers A and B with a MirrorMaker between them
    topics    delete records, re-create topics, add partitions
    traffic   records as an ordinary application would produce them, in a process of its own
    proxy     a TCP proxy that cuts or delays the mirror's connections to the source
    strangers random, truncated and hostile records, as other programs might write them
    faults    the register of what can be made to go wrong
    demo      all of it at once, for people

Kafka's version is that of the environment variable MIRRORWATCH_KAFKA (4.3.0 unless set, or 3.9).
"""
