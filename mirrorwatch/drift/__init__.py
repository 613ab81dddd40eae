"""Drift: `mirrorwatch drift`.

facts     what both clusters of a flow answered, and its drift
asking    the queries of the command: every cluster once, then each flow
document  the JSON document of `drift --json`
text      the text output of `drift`
"""
