"""Verdicts on one partition of a group: the table of rules, its inputs and its sentences.

table        our verdict on one group and partition, as a table of rules
policy       what the rules allow
case         one window of commits and where the log stands, and what more than one rule asks about them
facts        the numbers of a reason
groups       our verdict on a group from those on its partitions, for one group and for all at once
pace         how a group paces, stands and steps, over many windows at once, columns first
sentences    sentences for the reasons of verdicts, made from the numbers that a person checks them with
window       what the evaluators look at
words        the words of the evaluators
admin_words  sentences for verdicts on groups whose offsets come from the Admin API
"""
