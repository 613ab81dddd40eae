"""Rehearsed failovers of a flow, kept for reports.

rehearsal  one rehearsal: its steps and what was measured
tables     rehearsals in the store
"""
