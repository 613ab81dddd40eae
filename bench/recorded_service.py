"""The service as it is, with one thing added: it writes down the instants that its threads have stamped.

    python -m bench.recorded_service CONFIG FOLDER

Three files in FOLDER, of 64-bit integers, instants in monotonic ns: `seen` has (partition, offset, instant)
of each record read on B; `sent` has (due, sent) and `acked` (sent, acknowledged) of each probe to A.
"""

from __future__ import annotations

import threading
from array import array
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.recording import serve, write_arrays
from canary.site.intake import Intake

if TYPE_CHECKING:
    from canary.tracker.plan import Attempt
    from runtime.kafka.sender import Delivered
    from runtime.kafka.tap import TappedRecord


class Record:
    """What is kept, fed by the three places through which everything goes."""

    def __init__(self) -> None:
        self.seen, self.sent, self.acked = array("q"), array("q"), array("q")
        self._sent_ns: dict[tuple[int, int], int] = {}

    def take_record(self, record: TappedRecord) -> None:
        """Keep when a record of A's topic was read on B."""
        if record.tap.startswith("B-") and record.topic.startswith("A."):
            self.seen.extend((record.partition, record.offset, record.at_ns))

    def take_attempt(self, attempt: Attempt) -> None:
        """Keep when a probe to A was due and sent."""
        if attempt.alias == "A" and attempt.sent_ns is not None:
            self.sent.extend((attempt.at_ns, attempt.sent_ns))
            self._sent_ns[attempt.partition, attempt.sequence] = attempt.sent_ns

    def take_delivery(self, report: Delivered) -> None:
        """Keep when a probe to A was acknowledged."""
        tag: Any = report.tag
        if tag.alias == "A":
            self.acked.extend((self._sent_ns.pop((tag.partition, tag.sequence)), report.at_ns))


def main() -> None:
    """Run until SIGTERM, then write what was kept."""
    _tell_names()
    record = Record()
    for name in ("take_record", "take_attempt", "take_delivery"):
        _follow(name, getattr(record, name))
    folder = serve()
    write_arrays(folder, {"seen": record.seen, "sent": record.sent, "acked": record.acked})


def _tell_names() -> None:
    """Give each thread its name in the system too, so that its processor time can be told from others'."""
    run = threading.Thread.run

    def run_named(self: threading.Thread) -> None:
        Path("/proc/thread-self/comm").write_text(self.name[:15], encoding="utf-8")
        run(self)

    setattr(threading.Thread, "run", run_named)  # noqa: B010 - mypy knows a method when it is assigned to
    Path("/proc/thread-self/comm").write_text("loop", encoding="utf-8")


def _follow(name: str, keep: Any) -> None:
    """Have the intake's method of this name tell `keep` first what it is told."""
    take = getattr(Intake, f"_{name}")

    def keep_and_take(self: Intake, item: Any) -> None:
        keep(item)
        take(self, item)

    setattr(Intake, f"_{name}", keep_and_take)


if __name__ == "__main__":
    main()
