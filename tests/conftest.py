"""Fixtures of the whole run: one pair of real brokers, one mirror at a time, own topics for each test.

They start nothing until a test asks for them, so that unit tests stay quick.
"""

from __future__ import annotations

import hashlib
import shutil
import signal
from typing import TYPE_CHECKING

import pytest
from hypothesis import Phase, settings

from deploy.local.broker import Broker
from deploy.local.mirror import MirrorMaker
from deploy.local.pair import Pair
from deploy.local.postgresql import PostgreSql
from deploy.local.security import Security

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path


def pytest_configure(config: pytest.Config) -> None:
    """Ask no property how long it took, and let children be interrupted.

    Properties try the same few examples each time; with --hypothesis-profile=wild they try others, and more.
    A child that is started in the background inherits that SIGINT is ignored. No failure is explained: for a
    property that takes seconds to try, that goes on for minutes.
    """
    phases = tuple(phase for phase in Phase if phase is not Phase.explain)
    settings.register_profile("house", deadline=None, derandomize=True, max_examples=40, phases=phases)
    settings.register_profile("wild", deadline=None, phases=phases)
    settings.load_profile(config.getoption("--hypothesis-profile") or "house")
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def kafka_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Give the folder of every real process of this run; it goes at the end, logs stay with a failure."""
    folder = tmp_path_factory.mktemp("kafka")
    yield folder
    for data in folder.glob("*/*/data"):
        shutil.rmtree(data, ignore_errors=True)


@pytest.fixture(scope="session")
def kafka_pair(kafka_folder: Path) -> Iterator[Pair]:
    """Start brokers A and B, without a mirror, for the whole run."""
    with Pair(kafka_folder / "pair", flows=()) as pair:
        yield pair


class Mirrors:
    """Gives the mirror with the settings asked for, restarting only where they differ from the last ones."""

    def __init__(self, pair: Pair) -> None:
        self._pair = pair
        self._asked: tuple[tuple[str, ...], dict[str, str]] | None = None
        self._count = 0
        self.running: MirrorMaker | None = None

    def __call__(
        self,
        settings: Mapping[str, str] | None = None,
        *,
        flows: Sequence[str] = ("A->B",),
        fresh: bool = False,
    ) -> MirrorMaker:
        """Return a ready mirror; `fresh` asks for one that was started for this test."""
        asked = (tuple(flows), dict(settings or {}))
        if self.running is not None:
            self.running.switch.off()
            self.running.thaw()
            if self.running.running and self._asked == asked and not fresh:
                return self.running
            self.stop()
        self._count += 1
        self._asked = asked
        brokers = (self._pair.a, self._pair.b)
        folder = self._pair.folder / "mirrors"
        self.running = MirrorMaker(
            brokers, folder, name=f"mirror-{self._count}", flows=flows, settings=settings
        )
        self.running.start()
        self.running.wait_ready()
        return self.running

    def stop(self) -> None:
        """Stop the mirror that runs, if any."""
        if self.running is not None:
            self.running.stop(grace_s=10.0)
            self.running = None


@pytest.fixture(scope="session")
def _mirrors(kafka_pair: Pair) -> Iterator[Mirrors]:
    mirrors = Mirrors(kafka_pair)
    try:
        yield mirrors
    finally:
        mirrors.stop()


@pytest.fixture
def mirror(_mirrors: Mirrors) -> Iterator[Mirrors]:
    """Give the factory of mirrors between A and B; a fault that a test switched on ends with the test."""
    yield _mirrors
    if _mirrors.running is not None:
        _mirrors.running.switch.off()
        _mirrors.running.thaw()


@pytest.fixture
def no_mirror(_mirrors: Mirrors) -> None:
    """See that no mirror of an earlier test copies what this test's own copier is to copy."""
    _mirrors.stop()


@pytest.fixture
def topic_name(request: pytest.FixtureRequest) -> Callable[[str], str]:
    """Give a function that makes a topic name of this test's own out of a short word."""
    digest = hashlib.sha256(request.node.nodeid.encode()).hexdigest()[:10]

    def name(word: str = "t") -> str:
        return f"{word}-{digest}"

    return name


@pytest.fixture(scope="session")
def postgresql() -> Iterator[PostgreSql]:
    """Start a PostgreSQL server for the whole run."""
    with PostgreSql() as server:
        yield server


SECURE_USERS = {"admin": "admin-Pa55=wörd", "watcher": 'w"atch\\er', "stranger": "nothing-granted"}


@pytest.fixture(scope="session")
def secure_broker(kafka_folder: Path) -> Iterator[Broker]:
    """Start a broker with TLS, SCRAM and the authorizer: super user admin; watcher and stranger have no ACL."""
    security = Security(users=SECURE_USERS, super_users=("admin",))
    broker = Broker("S", kafka_folder / "secure", security=security)
    try:
        broker.start()
        broker.wait_ready()
        yield broker
    finally:
        broker.kill()
