"""What says that a plan does not fit the logs any more."""

from __future__ import annotations

from fleet.errors import UnavailableError


class OutdatedPlanError(UnavailableError):
    """The plan was right when it was made and is not any more: a new one is needed, not another try."""
