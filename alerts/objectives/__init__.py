"""Objectives of flows, their error budgets and burn rates. Pure.

objective   one objective of one flow, its kinds and what counts as good
burn        windows and factors of burn-rate alerts
resolving   the objectives of each flow, from the configuration
exclusion   time that counts for no objective
counters    the series that each kind of objective counts
openslo     objectives as OpenSLO v1
advice      checks that probes are frequent enough
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
