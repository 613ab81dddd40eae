"""The error for a plan that no longer fits the logs."""

from __future__ import annotations

from fleet.errors import UnavailableError


class OutdatedPlanError(UnavailableError):
    """The plan no longer fits the logs: plan again instead of retrying."""
