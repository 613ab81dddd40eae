"""Measured minutes and exclusions, for reports.

recorder   the worst of each minute from samples
tables     rows in the store: minutes, whole days, exclusions
"""

from __future__ import annotations

from alerts.minutes.recorder import SAMPLE_S, MinuteRecorder, Sample

__all__ = ["SAMPLE_S", "MinuteRecorder", "Sample"]
