"""The tracker of one flow: events in, outcomes of probes out. Pure.

tracker      the tracker of one flow
tracking     what the rules of a flow's tracker share
events       what goes into the tracker and what comes out of it
partition    what a flow's tracker knows of one partition
ranges       which probes of one partition never came, as ranges of sequence numbers
sequences    sets of numbers as ranges
ledger       the one place where a flow's books are written
books        the books of one flow
source_side  the tracker's rules for what happens at the source
target_side  the tracker's rules for what is read at the target
inheritance  the tracker's rules of a restart
adoption     what is under way with the probes of one incarnation that was taken over
proof        proof of loss
minutes      the rows of a flow by the minute in which its probes were due
stamp        what a probe carries, and how a copy of it is read again
latency      latency as it is kept
plan         how many partitions the canary's topic has, with what settings
impairment   when the prober could not see, for one flow
"""
