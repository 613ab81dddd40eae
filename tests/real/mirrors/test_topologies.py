"""Hub and spoke, fan-out, fan-in and chains for real: each hop timed for itself, nothing counted twice or wrongly.

Three brokers and one mirror serve all tests: each test has its own names for the brokers, its own topic and
its own flows in that mirror, and the service is told only of those.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from deploy.local.broker import Broker, start_together
from deploy.local.jars import kafka_version
from deploy.local.mirror import MirrorMaker, mirror_settings
from deploy.local.properties import write_properties
from deploy.local.several import Several
from deploy.local.topics import admin_client, topic_id
from tests.eventually import eventually
from tests.real.census import read_all
from tests.real.service.process import ServiceProcess

if TYPE_CHECKING:
    from collections.abc import Mapping

IDENTITY = "org.apache.kafka.connect.mirror.IdentityReplicationPolicy"
ALARMS = {"losing", "altered", "repeating"}
NEVER_THERE = ("skipped", "produce_failed", "produce_unknown", "abandoned")
OUTCOMES = ("good", "late", "overdue", "lost", "warmup", "unknown", *NEVER_THERE)


@dataclass(frozen=True)
class Shape:
    """Flows among names of the brokers x, y and z, with the policy of all of them."""

    topic: str
    names: Mapping[str, str]  # of a cluster to x, y or z
    flows: tuple[str, ...]
    separator: str = "."
    identity: bool = False

    @property
    def policy(self) -> dict[str, str]:
        if self.identity:
            return {"replication.policy.class": IDENTITY}
        return {"replication.policy.separator": self.separator} if self.separator != "." else {}

    def settings(self) -> dict[str, str]:
        """Return what the mirror is told of these flows: this topic, and what comes of it on its way."""
        topics = self.topic if self.identity else rf"(.*[{self.separator}])?{self.topic}"
        return {
            f"{flow}.{key}": value
            for flow in self.flows
            for key, value in {"topics": topics, **self.policy}.items()
        }

    def target_topic(self, flow: str) -> str:
        source, _, _ = flow.partition("->")
        return self.topic if self.identity else f"{source}{self.separator}{self.topic}"


XYZ = ("x", "y", "z")
HUB = Shape("hubbed", dict(zip(("H", "S1", "S2"), XYZ, strict=True)), ("H->S1", "S1->H", "H->S2", "S2->H"))
TRIANGLE = Shape("linked", dict(zip("ABC", XYZ, strict=True)), ("A->B", "A->C", "B->C"))
SAME_FAN_IN = Shape("fanned", dict(zip("IJK", XYZ, strict=True)), ("I->K", "J->K"), identity=True)
SAME_CHAIN = Shape("chained", dict(zip("LMN", XYZ, strict=True)), ("L->M", "M->N"), identity=True)
UNDERLINED = Shape("under_lined", {"P": "x", "Q": "y"}, ("P->Q", "Q->P"), separator="_")
DASHED = Shape("dashed-one", {"T": "y", "U": "z"}, ("T->U",), separator="-")
SHAPES = (HUB, TRIANGLE, SAME_FAN_IN, SAME_CHAIN, UNDERLINED, DASHED)
OLDER = "3.9.2"
OLDER_SHAPES = (TRIANGLE, SAME_CHAIN, UNDERLINED)

# Without heartbeats there is no herder for pairs of names that have no flow; nothing else is of use here.
LEAN = {
    "emit.heartbeats.enabled": "false",
    "heartbeats.replication.enabled": "false",  # with many names for one broker they would go round
    "emit.checkpoints.enabled": "false",
    "sync.group.offsets.enabled": "false",
    "sync.topic.configs.enabled": "false",
    "sync.topic.acls.enabled": "false",
    "refresh.groups.enabled": "false",
    "tasks.max": "1",
}


@dataclass(frozen=True)
class Named:
    """A broker under another name."""

    alias: str
    broker: Broker

    def java_properties(self, user=None):
        return self.broker.java_properties(user)


class Brokers(Several):
    """The brokers x, y and z and the mirror with every flow of these shapes."""

    def __init__(self, folder, version, shapes):
        self.version = version
        self.by_letter = {letter: Broker(letter.upper(), folder / letter, version=version) for letter in XYZ}
        named = [named for shape in shapes for named in self.named(shape)]
        flows = [flow for shape in shapes for flow in shape.flows]
        own = {key: value for shape in shapes for key, value in shape.settings().items()}
        for one in named:  # a worker keeps little here, and each partition takes time to make
            own |= {f"{one.alias}.{kept}.storage.partitions": "1" for kept in ("offset", "status")}
        self.mirror = MirrorMaker(
            named,
            folder / "mirror",
            flows=flows,
            settings={**LEAN, **own},
            switchable=False,
            version=version,
            heap_mb=768,  # each flow has a worker of its own
        )

    def named(self, shape):
        return [Named(alias, self.by_letter[letter]) for alias, letter in shape.names.items()]

    def of(self, shape, alias):
        return self.by_letter[shape.names[alias]]

    def bring_up(self):
        start_together(self.by_letter.values())
        for broker in self.by_letter.values():
            broker.wait_ready(deadline_s=60)
        self.mirror.start()

    def kill(self):
        for process in (self.mirror, *self.by_letter.values()):
            process.kill()

    def topics(self, shape, alias):
        """Return the topics of the shape, by its topic's name in theirs, on one of its clusters."""
        names = admin_client(self.of(shape, alias).client_properties()).list_topics(timeout=10).topics
        return {name for name in names if name.endswith(shape.topic)}


@pytest.fixture(scope="module")
def brokers(request, tmp_path_factory):
    version = getattr(request, "param", kafka_version())
    shapes = OLDER_SHAPES if hasattr(request, "param") else SHAPES
    with Brokers(tmp_path_factory.mktemp("topologies"), version, shapes) as running:
        yield running


@pytest.fixture
def watched(brokers, tmp_path):
    """Give a function that starts a service which knows the flows of one shape, and waits until all are healthy."""
    running = []

    def start(shape, **canary):
        mm2 = tmp_path / "mm2.properties"
        extra = {**LEAN, **shape.settings()}
        write_properties(mm2, mirror_settings(brokers.named(shape), shape.flows, extra, None))
        service = ServiceProcess(
            tmp_path / "service", topic=shape.topic, mm2=mm2, canary=canary, version=brokers.version
        )
        running.append(service.__enter__())
        for flow in shape.flows:
            service.is_healthy(flow=flow)
        return service

    yield start
    for service in running:
        service.__exit__()


def ends_well(service, brokers, shape):
    """End the service and hold the books of each flow against a full read of both of its topics."""
    books = service.end()
    probes = {}
    for flow in shape.flows:
        source, target = flow.split("->")
        sent_to = topic_id(brokers.of(shape, source).client_properties(), shape.topic)
        here = read_all(brokers.of(shape, source), shape.topic)
        # Under the identity policy the topic may hold what was mirrored to it as well.
        ours = {copy.content for copy in here if copy.stamp["topic_id"] == sent_to}
        there = eventually(
            lambda target=target, flow=flow, ours=ours: complete(
                read_all(brokers.of(shape, target), shape.target_topic(flow)), ours
            ),
            20,
            what=f"all copies of {flow}",
        )
        told = books[flow]
        assert told["expected"] == sum(told[name] for name in OUTCOMES) + told["in_flight"]
        assert told["overdue"] == sum(
            told[name] for name in ("recovered", "confirmed", "closed", "outstanding")
        )
        # Of each probe there is one record on the source, for however many flows it is.
        assert len(ours) == told["expected"] - sum(told[name] for name in NEVER_THERE)
        assert told["duplicated"] == sum(copy.content in ours for copy in there) - len(ours)
        for name in ("lost", "confirmed", "returned", "corrupted", "misrouted", "looped", "foreign"):
            assert told[name] == 0, (flow, name, told)
        assert told["good"] > 0
        assert not service.verdicts(flow) & ALARMS
        probes[flow] = len(ours)
    return books, probes


def complete(copies, ours):
    return copies if ours <= {copy.content for copy in copies} else None


@pytest.mark.long
def test_spokes_reach_each_other_through_the_hub_and_nothing_goes_round(brokers, watched):
    service = watched(HUB)
    wanted = {
        "H": {"hubbed", "S1.hubbed", "S2.hubbed"},
        "S1": {"hubbed", "H.hubbed", "H.S2.hubbed"},
        "S2": {"hubbed", "H.hubbed", "H.S1.hubbed"},
    }
    eventually(lambda: {alias: brokers.topics(HUB, alias) for alias in wanted} == wanted, 20)
    for flow in HUB.flows:
        service.is_healthy(flow=flow)
    _, probes = ends_well(service, brokers, HUB)
    assert probes["H->S1"] == probes["H->S2"]  # one probe on the hub is one of both flows
    assert {alias: brokers.topics(HUB, alias) for alias in wanted} == wanted


@pytest.mark.long
def test_one_cluster_down_of_three_stalls_only_what_goes_there(brokers, watched):
    service = watched(TRIANGLE)
    down = brokers.of(TRIANGLE, "C")
    began = time.monotonic()
    try:
        down.stop()
        for flow in ("A->C", "B->C"):
            stalled = service.becomes("stalled", flow=flow, cause="target_down", deadline_s=15)["counters"]
            eventually(lambda flow=flow: service.books(flow)["overdue"] > 4, 20)
            # Of the second flow all of this may be so already, within one interval.
            eventually(lambda flow=flow, was=stalled["settled"]: service.books(flow)["settled"] > was, 10)
            assert service.flow(flow)["verdict"] == "stalled"
        assert {verdict for _, verdict, _ in service.since(began, "A->B")} <= {"healthy", "late"}
    finally:
        down.start()
        down.wait_ready()
    for flow in TRIANGLE.flows:
        service.is_healthy(flow=flow)
    for flow in ("A->C", "B->C"):
        told = service.since(began, flow)
        print(f"{flow}: {told}")
        assert {cause for _, verdict, cause in told if verdict == "stalled"} <= {"target_down", "unexplained"}
    eventually(lambda: brokers.topics(TRIANGLE, "C") == {"A.linked", "B.linked", "B.A.linked"}, 20)
    books, probes = ends_well(service, brokers, TRIANGLE)
    assert probes["A->B"] == probes["A->C"]
    assert books["A->B"]["overdue"] == 0
    for flow in ("A->C", "B->C"):
        assert books[flow]["recovered"] == books[flow]["overdue"] > 4


@pytest.mark.parametrize(
    "shape",
    [pytest.param(SAME_FAN_IN, id="fan-in", marks=pytest.mark.long), pytest.param(SAME_CHAIN, id="chain")],
)
def test_under_the_identity_policy_each_flow_finds_its_own_probes(brokers, watched, shape):
    service = watched(shape)
    _, probes = ends_well(service, brokers, shape)
    first, second = shape.flows
    last = second.split("->")[1]
    # The last cluster has one topic for all of them, and nothing else in it.
    arrived = read_all(brokers.of(shape, last), shape.topic)
    assert len({copy.content for copy in arrived}) == probes[first] + probes[second]


@pytest.mark.parametrize("shape", [UNDERLINED, DASHED], ids=["underscore", "dash"])
def test_with_another_separator_the_copies_are_found(brokers, watched, shape):
    service = watched(shape)
    for flow in shape.flows:
        assert service.flow(flow)["canary"]["target_topic"] == shape.target_topic(flow)
    ends_well(service, brokers, shape)


@pytest.mark.long
@pytest.mark.parametrize("brokers", [OLDER], indirect=True)
@pytest.mark.parametrize("shape", OLDER_SHAPES, ids=["fan-in and chain", "identity", "underscore"])
def test_an_older_mirror_is_watched_alike(brokers, watched, shape):
    ends_well(watched(shape), brokers, shape)
