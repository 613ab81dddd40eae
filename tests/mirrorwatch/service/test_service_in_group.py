"""A service in a group of replicas: when it renews its lease, when it writes last, and what it says on standby."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace

import pytest

from fleet.errors import UnavailableError
from mirrorwatch.configuration.reading import read_configuration
from mirrorwatch.configuration.reloading import LastReload
from mirrorwatch.service import service as service_module
from mirrorwatch.service.leading import LeadershipLostError
from mirrorwatch.service.service import Service
from tests.eventually import eventually_async
from tests.mirrorwatch.configuration.test_changes import BOTH, configuration

GROUP = "{url: 'sqlite:///mw.db', replica: right, group: pair}"


def written(folder, **more):
    return configuration(folder, lag="{commits: off}", store=GROUP, **more)


@pytest.fixture
def service(tmp_path):
    return Service(read_configuration(written(tmp_path), environ={}))


async def for_ever():
    await asyncio.Event().wait()


class Leading:
    """A lease that is lost as soon as `lost` is set; `done` has what happened."""

    sees, guard, shard, former, holders = True, None, None, "", ()

    def __init__(self, done):
        self.done, self.lost = done, asyncio.Event()

    async def stand_by(self, _stopping):
        await for_ever()

    async def keep(self, _stopping):
        try:
            await self.lost.wait()
        except asyncio.CancelledError:
            self.done.append("renewed to the end")
            raise
        raise LeadershipLostError("another one leads")

    async def release(self):
        self.done.append("released")


async def test_the_lease_is_renewed_while_it_takes_over_and_until_it_has_ended(service, monkeypatch):
    done = []
    leading = Leading(done)

    async def work(_shutdown):
        await asyncio.sleep(0)
        done.append("worked")

    monkeypatch.setattr(service, "_work", work)
    await service._lead(leading, None)
    assert done == ["worked", "renewed to the end"]


async def test_it_ends_where_the_lease_is_lost_while_it_takes_over(service, monkeypatch):
    leading = Leading([])

    async def work(_shutdown):
        leading.lost.set()
        await for_ever()

    monkeypatch.setattr(service, "_work", work)
    with pytest.raises(ExceptionGroup) as found:
        await service._lead(leading, None)
    assert [str(one) for one in found.value.exceptions] == ["another one leads"]


class Part:
    """A part of the service that notes in `done` when it ends."""

    def __init__(self, done, name):
        self._done, self._name = done, name

    async def keep(self, *_):
        try:
            await for_ever()
        finally:
            self._done.append(f"no more {self._name}")

    async def end(self, *_):
        self._done.append(f"last {self._name}")

    look = end


async def test_nothing_is_written_after_the_last_write_and_the_lease_is_released_then(service, monkeypatch):
    done = []
    for name in ("bookkeeper", "latching", "minutes", "incidents", "budgets", "connect", "checksums"):
        monkeypatch.setattr(service, f"_{name}", Part(done, name))

    async def send(stopping):
        await stopping.wait()

    async def close():
        done.append("closed")

    probes = Part(done, "probes")
    prober = SimpleNamespace(
        sites={},
        flows={},
        pump=probes.keep,
        self_check=SimpleNamespace(watch=for_ever),
        send=send,
        close=close,
    )
    monkeypatch.setattr(service, "_keep_judging", lambda _prober: for_ever())
    monkeypatch.setattr(service, "_keep_syncs", for_ever)
    monkeypatch.setattr(service, "_leading", Leading(done))
    service._works = True
    reloads = SimpleNamespace(keep=lambda *_: for_ever(), end=lambda: asyncio.sleep(0))
    shutdown = SimpleNamespace(stopping=asyncio.Event())
    watching = asyncio.create_task(service._watch(prober, reloads, shutdown))
    for _ in range(3):
        await asyncio.sleep(0)
    shutdown.stopping.set()
    await watching
    writers = ("bookkeeper", "latching", "minutes", "incidents")
    assert sorted(done[:4]) == sorted(f"no more {name}" for name in writers)
    assert done[4:10] == [
        "last bookkeeper",
        "last minutes",
        "last latching",
        "last incidents",
        "released",
        "closed",
    ]
    assert "no more probes" in done[10:]
    assert not service._works


async def test_a_file_that_is_valid_on_standby_is_what_others_are_compared_with(service, tmp_path):
    asked = asyncio.Event()
    checking = asyncio.create_task(service._check_reloads(asked))
    before, service._last_reload = service._leading._facts(), LastReload(ok=False, ok_at=0.0)
    for flows, valid in (({**BOTH, "A->C": "{}"}, True), ({"A->A": "{}"}, False)):
        written(tmp_path, flows=flows)
        asked.set()
        await eventually_async(lambda ok=valid: not asked.is_set() and service._last_reload.ok is ok, 20)
    found = service._leading._facts()
    assert (before["flows"], found["flows"]) == ("A->B, B->A", "A->B, A->C, B->A")
    assert found["configuration"] != before["configuration"]
    checking.cancel()
    service._make_reloading(None, asked)._note(True)  # it leads, and has read the file again
    assert service._leading._facts() == before


async def test_the_topic_of_the_canary_is_the_running_one_until_the_next_start(service, tmp_path):
    before = service._leading._facts()
    path = written(tmp_path, canary="{topic: other}")
    service._next_config = read_configuration(path, environ={})
    assert service._leading._facts() == before
    path = written(tmp_path, canary="{interval: 2s}")
    service._next_config = read_configuration(path, environ={})
    assert service._leading._facts() != before


async def test_a_store_that_does_not_show_the_lease_is_counted(service):
    with pytest.raises(UnavailableError):
        await service._lease_store.read(None)
    assert service._store_errors["read"] == 1


async def test_a_bug_in_checking_the_file_ends_a_standby(service, monkeypatch):
    def broken(*_, **__):
        raise RuntimeError("a bug")

    async def serve(_app):
        pass

    monkeypatch.setattr(service_module, "read_configuration", broken)
    monkeypatch.setattr(service, "_serve", serve)
    shutdown = SimpleNamespace(stopping=asyncio.Event(), reload=asyncio.Event())
    shutdown.reload.set()
    with pytest.raises(ExceptionGroup) as found:
        await service._stand_by(Leading([]), shutdown)
    assert [str(one) for one in found.value.exceptions] == ["a bug"]
    await service._lease_store.close()
