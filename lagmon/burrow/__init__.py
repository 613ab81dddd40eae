"""Burrow's API and Burrow's rules, with Burrow's results.

api        Burrow's HTTP API v3, for scripts and dashboards that use it
documents  Burrow's JSON documents about groups
paths      the paths of Burrow's HTTP API v3, and answers without a group
ring       the effect of one commit on Burrow's ring, as a reference for the intake
rules      Burrow's verdicts on one partition or group
sweep      Burrow's verdicts on all partitions at once
"""
