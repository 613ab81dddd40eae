"""What the kills write down of how a process ended: what really happened, not what was meant to."""

from __future__ import annotations

import pytest

from bench.kills import BY_ITSELF, ENDED, IN_ITS_DRAIN, KILLED, Diary, _end


class Service:
    """A process that ends with `status` when it is asked to, or never where that is None."""

    def __init__(self, *, runs: bool, status: int | None = None) -> None:
        self.running, self.exit_status, self._status = runs, status, status

    def request_stop(self) -> None:
        self.running = self._status is None

    def kill(self) -> None:
        self.running = False

    def logged(self) -> str:
        return ""


class Weather:
    def live(self, seconds: float) -> None:
        """Let no time pass."""


def ended(service, how):
    diary = Diary()
    _end(service, Weather(), diary, 0.0, how, 0.0)
    assert not service.running
    assert len(diary.lives) == 1
    return dict(diary.ends), diary.killed, len(diary.trouble)


@pytest.mark.parametrize(
    ("service", "how", "what"),
    [
        (Service(runs=True), KILLED, ({KILLED: 1}, 1, 0)),
        (Service(runs=False, status=1), KILLED, ({BY_ITSELF: 1}, 0, 1)),
        (Service(runs=False, status=0), ENDED, ({BY_ITSELF: 1}, 0, 1)),
        (Service(runs=True), IN_ITS_DRAIN, ({IN_ITS_DRAIN: 1}, 1, 0)),
        (Service(runs=True, status=0), IN_ITS_DRAIN, ({ENDED: 1}, 0, 0)),
        (Service(runs=True, status=0), ENDED, ({ENDED: 1}, 0, 0)),
        (Service(runs=True, status=-15), ENDED, ({ENDED: 1}, 0, 0)),
        (Service(runs=True, status=1), ENDED, ({ENDED: 1}, 0, 1)),
        (Service(runs=True), ENDED, ({IN_ITS_DRAIN: 1}, 1, 1)),  # it did not end in time
    ],
)
def test_an_end_is_counted_as_what_it_was(service, how, what):
    assert ended(service, how) == what
