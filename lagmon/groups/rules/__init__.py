"""Verdicts on one partition of a group: the table of rules, its inputs and its sentences.

table            the verdict on one group-partition, as a table of rules
policy           thresholds of the rules
case             one window of commits with the state of its log, and values that several rules need
facts            the numbers of a verdict
groups           the verdict on a group from those on its partitions, for one group and for all at once
pace             pace, time without progress and steps of many windows at once, columns first
sentences        one sentence for each reason of a verdict
window           inputs of the rules: windows of commits and positions of logs
words            statuses and reasons
admin_sentences  sentences for groups whose offsets come from the Admin API
"""
