"""One cluster at work: topics of the canary, producers, taps, control probes.

site          one cluster, watched
control       control probes
own_topics    MirrorMaker's own topics on one cluster
probing       the sending half on one source cluster
reader        the taps of one cluster, re-created when the topics to read change
sending       one source's probes, each sent when it is due, on a thread that does nothing else
topics        the topics of the canary on one cluster
topic_advice  what is wrong with a topic of ours, judged from its settings, with what to do about it
topic_care    the plan held against what there is
throttling    say when brokers hold back the canary's own clients
weight        what a record of ours takes in a partition's log
beginnings    where a tap begins with a topic that became known
intake        what taps and producers have seen becomes events for the trackers, and problems for a person
"""
