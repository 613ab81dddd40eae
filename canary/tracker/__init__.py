"""Tracker of one flow: events in, outcomes of probes out. Pure.

events       input and output of the tracker
tracker      tracker of one flow
tracking     state and deadlines that the rules share
source_side  rules for the source: due, sent, acknowledged, refused, read
target_side  rules for records read on the target
inheritance  rules for probes taken over from an earlier process
adoption     progress with one incarnation that was taken over
proof        proof of loss
impairment   intervals in which the prober could not measure
partition    state of one partition
ranges       probes that never arrived, as ranges of sequence numbers
sequences    sets of numbers as ranges
ledger       the only writer of a flow's counters
counters     counters of one flow
minutes      counters of a flow by minute
latency      latency histograms
stamp        content of a probe: encode and decode
plan         number of partitions, topic settings, schedule
"""
