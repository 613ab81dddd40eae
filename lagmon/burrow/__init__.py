"""Burrow's API and Burrow's rules, exactly as Burrow has them.

api        Burrow's HTTP API v3, for scripts and dashboards that hold on to it
documents  what Burrow's API says of groups, as Burrow's JSON has it
paths      the paths of Burrow's HTTP API v3, and its answers that concern no group
ring       what one commit does to Burrow's ring of commits, as a reference for the intake
rules      Burrow's verdicts exactly as Burrow gives them, for users whose scripts hold on to its words
sweep      Burrow's verdicts over all partitions at once
"""
