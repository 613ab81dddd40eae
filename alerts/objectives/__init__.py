"""What a flow has to deliver: objectives, their error budgets, and how fast these may burn. Pure.

objective   one objective of one flow, its kinds and what counts as good
burn        the windows and factors of burn-rate alerts, derived from the period
resolving   which objectives each flow has, from what is configured
exclusion   time that counts in no objective
counters    the series that each kind of objective is counted from
openslo     objectives as OpenSLO v1, written and read
advice      whether probes come often enough for an alert to mean something
"""

from __future__ import annotations

from alerts.objectives.advice import rate_advice
from alerts.objectives.burn import BURN_WINDOWS, BurnWindow, longest_window_s
from alerts.objectives.exclusion import Exclusion
from alerts.objectives.objective import Objective, ObjectiveKind, defaults_of
from alerts.objectives.resolving import FlowFacts, objectives_of

__all__ = [
    "BURN_WINDOWS",
    "BurnWindow",
    "Exclusion",
    "FlowFacts",
    "Objective",
    "ObjectiveKind",
    "defaults_of",
    "longest_window_s",
    "objectives_of",
    "rate_advice",
]
