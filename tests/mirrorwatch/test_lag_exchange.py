"""Other orders for the lag monitor while it works: its process ends with what it knows, the next begins there."""

from __future__ import annotations

import asyncio
import os
import signal

import pytest

from fleet.errors import MalformedError, UnavailableError
from fleet.verdicts.vocabulary import Verdict
from lagmon.snapshots import store as snapshot_store
from mirrorwatch.configuration.reading import read_configuration
from mirrorwatch.lag import monitor as lag_monitor
from mirrorwatch.lag.monitor import OFF, WHAT
from mirrorwatch.lag.orders import lag_orders
from mirrorwatch.service.connect_states import ConnectStates
from runtime.store.store import Store
from tests.mirrorwatch.configuration.test_changes import configuration
from tests.mirrorwatch.test_lag_handing_over import KNOWN, WITHIN_S, Desk, desk

__all__ = ["desk"]

AWAY = {"A": "127.0.0.1:1", "B": "127.0.0.1:1"}
THREE = AWAY | {"C": "127.0.0.1:1"}
ON = "{commits: topic}"


def config_of(folder, **sections):
    told = {"clusters": AWAY, "lag": ON, **sections}
    return read_configuration(configuration(folder, **told), environ={})


# --- what it works by


@pytest.mark.parametrize(
    ("sections", "same"),
    [
        ({}, True),
        ({"canary": "{interval: 2s, threshold: 9s, horizon: 99s}"}, True),
        ({"http": "{reload: true, tokens: {operator: t0ken}}"}, True),
        ({"flows": {"A->B": "{canary: {threshold: 9s}}", "B->A": "{}"}}, True),
        ({"flows": {"A->B": "{topics: 'orders.*'}", "B->A": "{}"}}, False),
        ({"flows": {"A->B": "{lag_from: offset-syncs}", "B->A": "{}"}}, False),
        ({"flows": {"A->B": "{}"}}, False),
        ({"clusters": {**AWAY, "B": "127.0.0.1:2"}}, False),
        ({"lag": "{commits: admin}"}, False),
        ({"lag": "{commits: topic, groups: 'shop-.*'}"}, False),
        ({"lag": "{commits: topic, topics: 'shop-.*'}"}, False),
        ({"lag": "{commits: topic, topics_exclude: 'shop-.*'}"}, False),
        ({"lag": "{commits: topic, topics: '.*', topics_exclude: ''}"}, True),
        ({"lag": "{commits: topic, per_partition: true}"}, False),
    ],
)
def test_what_the_process_works_by(tmp_path, sections, same):
    before, after = lag_orders(config_of(tmp_path)), lag_orders(config_of(tmp_path, **sections))
    assert (before == after) is same


OURS = """
mm2: mm2.properties
clusters:
  A: {security.protocol: SASL_SSL, sasl.mechanism: PLAIN, sasl.username: u, sasl.password: "${env:A}"}
flows: {A->B: {topics: "${env:TOPICS}"}}
store: {url: "${env:STORE}"}
http: {tokens: {operator: "${env:TOKEN}"}}
checksum: {client_id: "${env:CLIENT}"}
"""
SECRETS = {
    "STORE": "postgresql://mw:one-of-store@db/mw", "TOKEN": "one-of-tokens", "CLIENT": "one-of-checksum",
    "TOPICS": "one-of-flows", "A": "one-of-clusters",
}  # fmt: skip


def orders_with(folder, **secrets):
    mirror = (
        "clusters = A, B\nA.bootstrap.servers = a:9092\nB.bootstrap.servers = b:9092\nA->B.enabled = true\n"
        f"B.producer.ssl.key.password = {secrets.pop('MIRROR', 'one-of-mirror')}\n"
    )
    (folder / "mm2.properties").write_text(mirror, encoding="utf-8")
    path = folder / "mirrorwatch.yaml"
    path.write_text(OURS, encoding="utf-8")
    return lag_orders(read_configuration(path, environ=SECRETS | secrets))


@pytest.mark.parametrize("name", ["STORE", "TOKEN", "CLIENT"])
def test_a_secret_that_the_process_cannot_come_across_is_not_reported_to_it(tmp_path, name):
    before = orders_with(tmp_path)
    assert set(before.told["secrets"]) == {"one-of-mirror", "one-of-clusters", "one-of-flows"}
    assert orders_with(tmp_path, **{name: SECRETS[name].replace("one", "two")}) == before


@pytest.mark.parametrize(
    ("name", "value"), [("MIRROR", "two-of-mirror"), ("A", "two-of-clusters"), ("TOPICS", "two-of-flows")]
)
def test_a_secret_that_the_process_can_come_across_is_reported_to_it_again(tmp_path, name, value):
    before, after = orders_with(tmp_path), orders_with(tmp_path, **{name: value})
    assert after != before
    assert set(after.told["secrets"]) - set(before.told["secrets"]) == {value}


def test_topics_that_are_left_out_are_reported_to_the_process_and_change_no_flow(tmp_path):
    before = lag_orders(config_of(tmp_path))
    after = lag_orders(config_of(tmp_path, lag="{commits: topic, topics: 'a.*', topics_exclude: 'ab'}"))
    assert [before.told[key] for key in ("topics", "topics_exclude")] == [".*", ""]
    assert [after.told[key] for key in ("topics", "topics_exclude")] == ["a.*", "ab"]
    assert after.flows == before.flows


def test_off_is_no_orders(tmp_path):
    assert lag_orders(config_of(tmp_path, lag="{commits: 'off'}")) is None


# --- a process that is played


class Played:
    """The process: notes what it is told, and answers about the flows of its orders."""

    heard: list[str]

    def __init__(self, *_names, **_settings):
        self.heard = []
        self.starts = 0
        self.pid = self.state = None
        self.orders = {}
        self.dies = asyncio.Event()
        self.up = asyncio.Event()

    async def run(self, ending):
        self.starts += 1
        flows = sorted(f"{one['source']}->{one['target']}" for one in self.orders["mirrors"])
        self.heard.append(f"begin {self.orders['commits']} {' '.join(flows)}")
        self.up.set()
        dying, end = asyncio.create_task(self.dies.wait()), asyncio.create_task(ending.wait())
        await asyncio.wait((dying, end), return_when=asyncio.FIRST_COMPLETED)
        dying.cancel()
        end.cancel()
        self.up.clear()
        if not end.done():
            self.dies.clear()
            self.heard.append("died")
            raise UnavailableError("it ended by itself")
        self.heard.append("end")

    async def ask(self, question, **_details):
        if question != "flows":
            self.heard.append(question)
        if not self.up.is_set():
            raise UnavailableError("it is away")
        return {"parts": []}, b'{"flows": []}'

    def close(self):
        self.heard.append("closed")


@pytest.fixture
async def played(tmp_path, monkeypatch):
    monkeypatch.setattr(lag_monitor, "Worker", Played)
    store = Store(f"sqlite:///{tmp_path}/mw.db", migrations=snapshot_store.MIGRATIONS)
    await store.open()
    made = Desk(tmp_path, store)
    await begun(made, 1)
    yield made
    await made.end()
    await store.close()


def worker(desk):
    return desk.lagging._worker


async def begun(desk, starts):
    async with asyncio.timeout(WITHIN_S):
        while True:
            if worker(desk).starts >= starts and worker(desk).up.is_set():
                return
            await asyncio.sleep(0.01)


def use(desk, folder, **sections):
    desk.lagging.use(config_of(folder, **sections))


async def test_where_nothing_changes_that_it_works_by_it_is_not_touched(played, tmp_path):
    use(played, tmp_path, canary="{interval: 2s}")
    await asyncio.sleep(0.1)
    assert worker(played).heard == ["begin topic A->B B->A"]
    assert played.events == []


async def test_it_reports_what_it_knows_and_the_next_begins_with_the_new_orders(played, tmp_path):
    use(played, tmp_path, clusters=THREE, flows={"A->B": "{}", "A->C": "{}"})
    assert played.lagging.evidence("B->A") is None
    assert played.lagging.evidence("A->C").verdict is Verdict.UNKNOWN
    assert set(played.lagging.synced) == {"A->B", "B->A"}  # until the process reads others
    await begun(played, 2)
    assert worker(played).heard == ["begin topic A->B B->A", "snapshot", "end", "begin topic A->B A->C"]
    assert set(played.lagging.synced) == {"A->B", "A->C"}
    assert played.events == ["the lag monitor restarts with new settings"]


async def test_the_newest_orders_hold_however_many_come_meanwhile(played, tmp_path):
    for flows in ({"A->C": "{}"}, {"B->C": "{}"}, {"A->B": "{}"}):
        use(played, tmp_path, clusters=THREE, flows=flows)
    await begun(played, 2)
    assert worker(played).heard[-1] == "begin topic A->B"
    assert worker(played).starts == 2


async def test_a_process_that_dies_meanwhile_loses_no_orders(played, tmp_path):
    worker(played).dies.set()
    use(played, tmp_path, lag="{commits: admin}")
    await begun(played, 2)
    assert worker(played).heard[-1] == "begin admin A->B B->A"


async def test_orders_that_come_while_it_waits_to_be_started_again_do_not_wait(played, tmp_path):
    worker(played).dies.set()
    async with asyncio.timeout(WITHIN_S):
        while True:
            if WHAT in played.said:
                break
            await asyncio.sleep(0.01)
    use(played, tmp_path, lag="{commits: admin}")
    async with asyncio.timeout(0.9):
        await begun(played, 2)
    assert worker(played).heard[-1] == "begin admin A->B B->A"
    assert WHAT not in played.said


async def test_off_and_on_again(played, tmp_path):
    use(played, tmp_path, lag="{commits: 'off'}")
    assert not played.lagging.on
    assert played.lagging.evidence("A->B") is None
    assert played.lagging.recovery_points() == {}
    assert played.lagging.synced == ()
    async with asyncio.timeout(WITHIN_S):
        while True:
            if not worker(played).up.is_set():
                break
            await asyncio.sleep(0)
    use(played, tmp_path)
    await begun(played, 2)
    assert worker(played).heard == [
        *("begin topic A->B B->A", "snapshot", "end"),
        "begin topic A->B B->A",
    ]
    assert OFF == "the lag monitor is off (lag.commits)"


AWAY_SAID = {"away": {"A": {"since_ms": 1, "why": "no answer"}}, "last_success_at": {"A": {}}}


async def test_how_clusters_were_before_it_was_off_is_forgotten(played, tmp_path):
    async def ask(_question, **_details):
        return {"collected": AWAY_SAID}, b'{"flows": []}'

    async def ask_and_go_off(_question, **_details):
        use(played, tmp_path, lag="{commits: 'off'}")
        return await ask(_question)

    worker(played).ask = ask
    await played.lagging._look_at_flows()
    assert played.lagging.standing("A").state == "down"
    worker(played).ask = ask_and_go_off
    await played.lagging._look_at_flows()
    del worker(played).ask
    use(played, tmp_path)
    assert played.lagging.standing("A") is None


async def test_what_was_complained_of_is_no_problem_any_more_once_it_is_off(played, tmp_path):
    await played.store.close()  # so that what it knows at its end cannot be written
    use(played, tmp_path, lag="{commits: 'off'}")
    async with asyncio.timeout(WITHIN_S):
        while True:
            if worker(played).heard[-1] == "end" and not played.said:
                break
            await asyncio.sleep(0.01)


async def test_what_is_reported_by_orders_that_hold_no_more_is_not_believed(played, tmp_path):
    taken = []
    played.lagging._book.take = lambda documents, **_: taken.extend(one["flow"] for one in documents)

    async def ask(_question, **_details):
        use(played, tmp_path, flows={"A->B": "{topics: 'orders.*'}", "B->A": "{}"})
        return {"parts": []}, b'{"flows": [{"flow": "A->B"}, {"flow": "B->A"}]}'

    worker(played).ask = ask
    await played.lagging._look_at_flows()
    assert taken == ["B->A"]


async def test_series_of_what_is_left_go_at_once(played, tmp_path):
    async def stream(question):
        return {}, question

    worker(played).stream = stream
    assert await played.lagging.stream("metrics") == ({}, "metrics")
    use(played, tmp_path, flows={"A->B": "{}"})
    with pytest.raises(UnavailableError):
        await played.lagging.stream("metrics")
    await begun(played, 2)
    assert await played.lagging.stream("metrics") == ({}, "metrics")


# --- a real process


async def test_what_was_known_goes_over_to_the_process_with_the_new_orders(desk, tmp_path):
    await desk.up()
    before = desk.pid
    await desk.forget()
    use(desk, tmp_path, clusters=THREE, flows={"A->B": "{}", "A->C": "{}"})
    assert await desk.up(but=before) == ["cluster:A", "cluster:B", "cluster:C", "flow:A->B", "flow:A->C"]
    assert await desk.kept() == KNOWN
    await desk.end()
    assert await desk.kept() == KNOWN


async def test_a_stop_in_the_middle_of_an_exchange_begins_no_other_process(desk, tmp_path):
    await desk.up()
    use(desk, tmp_path, lag="{commits: admin}")
    await asyncio.sleep(0)
    starts = desk.lagging._worker.starts
    await desk.end()
    assert desk.lagging._worker.starts == starts
    assert desk.pid is None


async def test_a_process_that_is_killed_in_an_exchange_is_followed_by_the_new_orders(desk, tmp_path):
    await desk.up()
    killed = desk.pid
    use(desk, tmp_path, clusters=THREE, flows={"A->C": "{}"})
    os.kill(killed, signal.SIGKILL)
    assert "flow:A->C" in await desk.up(but=killed)
    await desk.end()


async def test_each_process_is_reported_once_what_connect_shows_and_every_later_look(played, tmp_path):
    async def told(count):
        await played.lagging._look()
        assert worker(played).heard.count("connect_states") == count

    await told(0)
    played.lagging.note_states(ConnectStates(1))
    await told(1)
    await told(1)
    played.lagging.note_states(ConnectStates(2))
    await told(2)
    use(played, tmp_path, lag="{commits: admin}")
    await begun(played, 2)
    await told(3)
    await told(3)


async def test_what_connect_shows_cannot_be_reported_and_the_flows_are_asked_all_the_same(played):
    real, asked = worker(played).ask, []

    async def ask(question, **details):
        asked.append(question)
        if question == "connect_states":
            raise UnavailableError("it ended before its answer did")
        return await real(question, **details)

    worker(played).ask = ask
    played.lagging.note_states(ConnectStates(1))
    for _ in range(2):
        await played.lagging._look()
    assert asked.count("flows") == asked.count("connect_states") >= 2


async def test_an_answer_that_is_none_is_reported_and_does_not_end_the_looks(played):
    async def ask(_question, **_details):
        raise MalformedError("A question or a head is not JSON.")

    worker(played).ask = ask
    await played.lagging._look()
    assert "not JSON" in played.said[f"{WHAT}: flows"]
    assert played.lagging.evidence("A->B").verdict is Verdict.UNKNOWN
    del worker(played).ask
    await played.lagging._look()
    assert played.said == {}


async def test_a_hang_up_is_the_services_and_ends_no_process_of_it(desk):
    await desk.up()
    before = desk.pid
    os.kill(before, signal.SIGHUP)
    for _ in range(3):
        await desk.lagging.ask("snapshot")
        await asyncio.sleep(0.1)
    assert desk.pid == before
