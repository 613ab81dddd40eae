"""The service as an operator runs it, and what it says: by its API while it runs, by its log afterwards."""

from __future__ import annotations

import datetime as dt
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from prometheus_client.parser import text_string_to_metric_families

from deploy.local.jars import StackError
from deploy.local.service import Service
from deploy.local.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from prometheus_client.samples import Sample

_LOOK_S = 0.25


@dataclass(frozen=True, slots=True)
class Change:
    """A new verdict of a flow, at an instant of the wall clock in epoch seconds."""

    flow: str
    at: float
    verdict: str
    cause: str
    sentence: str


class WatchedService(Service):
    """The service on the mirror of this mm2.properties; without `lag`, it has no lag monitor."""

    def __init__(
        self,
        folder: Path,
        *,
        canary: Mapping[str, str],
        mm2: Path | None = None,
        lag: Mapping[str, str] | None = None,
        module: str = "",
        **more: object,
    ) -> None:
        """Create it; `more` are other sections, such as `clusters` if there is no file of a mirror."""
        document = {"canary": dict(canary), "lag": dict(lag or {"commits": "off"}), **more}
        if mm2 is not None:
            document["mm2"] = str(mm2)
        super().__init__(folder, document, module=module)

    def wait_healthy(self, *flows: str, deadline_s: float, held_s: float = 0.0) -> float:
        """Wait until all of these flows were healthy for `held_s`; return the seconds until that began.

        With less than the threshold, a flow that has just begun to stall may still pass for healthy. Raises
        TimeoutError with what it said last, and StackError when it has ended.
        """
        said: dict[str, dict[str, Any]] = {}
        began = healthy_since = time.monotonic()

        def look() -> bool:
            nonlocal healthy_since
            if not self.running:
                raise StackError(f"The service ended with status {self.exit_status}: {self.logged()[-1000:]}")
            said.clear()
            said.update(self.flows())
            if not all(said.get(flow, {}).get("verdict") == "healthy" for flow in flows):
                healthy_since = time.monotonic() + _LOOK_S  # at the next look at the earliest
            return time.monotonic() >= healthy_since + held_s

        try:
            wait_until(look, deadline_s=deadline_s, what="It", every_s=_LOOK_S)
        except TimeoutError:
            told = "; ".join(f"{flow}: {one['sentence']}" for flow, one in said.items())
            raise TimeoutError(
                f"{' and '.join(flows)} were not healthy within {deadline_s:g} s. {told}"
            ) from None
        return healthy_since - began

    def changes(self) -> list[Change]:
        """Return every verdict that it ever gave, in order, from its log."""
        return [
            Change(
                flow=line["flow"],
                at=dt.datetime.fromisoformat(line["time"]).timestamp(),
                verdict=line["verdict"],
                cause=line.get("cause", "none"),
                sentence=line["sentence"],
            )
            for line in self.lines()
            if "verdict" in line and "flow" in line
        ]


def samples(metrics: bytes) -> Iterator[Sample]:
    """Yield every sample of an answer of /metrics, as Prometheus reads it."""
    for family in text_string_to_metric_families(metrics.decode()):
        yield from family.samples
