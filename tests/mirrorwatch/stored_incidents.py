"""Incidents as a store would have them, for tests of pages and API."""

from __future__ import annotations

from fleet.errors import UnavailableError
from tests.mirrorwatch import views

OPEN = views.incident(began_s=40, lasted_s=40, ended=False)
ENDED = views.incident()
HOSTILE = views.incident(source=views.HOSTILE[:20], text=views.HOSTILE, began_s=9000)


class Incidents:
    """The incidents of a store, without a store."""

    def __init__(self):
        self.all = (OPEN, ENDED, HOSTILE)
        self.open = (OPEN,)
        self.failing = False

    async def newest(self, *, flow=None, open_only=False, offset=0, limit=100):
        self._answer()
        found = [one for one in self.all if flow in (None, one.flow) and not (open_only and one.ended)]
        return tuple(found[offset : offset + limit]), len(found)

    async def find(self, incident):
        self._answer()
        return next((one for one in self.all if one.incident == incident), None)

    def _answer(self):
        if self.failing:
            raise UnavailableError("the store mw.db is closed")
