"""Report when brokers throttle the canary's own clients, because its latencies then include the quota."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runtime.kafka.throttle import WINDOW_S

if TYPE_CHECKING:
    from collections.abc import Mapping

    from canary.report import Reporter
    from runtime.kafka.throttle import Throttle

MUCH_S = 1.0  # in WINDOW_S
_DOING = {"tap": "reading", "sender": "writing"}
_CLIENT = {"tap": "tap", "sender": "canary"}


def report_throttling(alias: str, throttles: Mapping[str, Throttle], reporter: Reporter) -> None:
    """Report each client of a cluster that is throttled for long, and when that is over."""
    for collector, throttle in throttles.items():
        where = f"{alias}: quota of the {collector}"
        recent_s = throttle.recent_s()
        if recent_s <= MUCH_S:
            reporter.settled(where)
            continue
        reporter.problem(
            where,
            f"a quota of {alias} throttled the canary's {_DOING[collector]} for {recent_s:.1f} s in the last"
            f" {WINDOW_S:.0f} s, so its latencies are not the mirror's alone; raise the quota of the client"
            f" id mirrorwatch-{alias}-{_CLIENT[collector]} or of its user, or raise canary.interval",
        )
