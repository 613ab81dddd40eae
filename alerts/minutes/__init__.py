"""What was measured in each minute, and what of the time is excluded: kept for reports.

recorder   samples in, the worst of each minute out
tables     rows in the store: minutes, whole days, exclusions
"""

from __future__ import annotations

from alerts.minutes.recorder import SAMPLE_S, MinuteRecorder, Sample

__all__ = ["SAMPLE_S", "MinuteRecorder", "Sample"]
