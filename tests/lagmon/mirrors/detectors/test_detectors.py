"""Detectors: one shape, in one list, read-only toward the flow."""

from __future__ import annotations

import ast
import inspect
from dataclasses import dataclass, field

import pytest

from fleet.verdicts.vocabulary import Cause, Verdict
from lagmon.mirrors.answers.findings import MirrorFinding
from lagmon.mirrors.detectors.detector import Detector
from lagmon.mirrors.detectors.registry import Detectors
from tests.house.product_files import ROOT
from tests.lagmon.mirror_flows import Mirrored, S

# What writes the facts: progress as it is read, and what an earlier process kept.
WRITERS = ("lagmon/mirrors/progress/", "lagmon/mirrors/facts.py", "lagmon/mirrors/flow.py")


class Odd(Detector):
    """Finds topics whose log ends at an odd offset: no fault, but simple."""

    def __init__(self):
        self.topics, self.forgotten = set(), []

    def observe(self, flow, partitions):
        slots = [slot for _, _, slot in flow.windows.slots() if partitions.used[slot]]
        self.topics = {flow.windows.name(slot)[0] for slot in slots if flow.windows.next_offset[slot] % 2}

    def findings(self, flow, now_ms):  # noqa: ARG002 - as all
        return [
            MirrorFinding(code=Cause.FILTERED, topic=topic, partition=0, at_ms=now_ms, sentence="It is odd.")
            for topic in sorted(self.topics)
        ]

    def forget(self, flow, is_gone):
        self.forgotten += [topic for topic in flow.topics.remembered if is_gone(topic)]


@dataclass(slots=True)
class WithOdd(Detectors):
    odd: Odd = field(default_factory=Odd)


def test_a_detector_is_one_module_and_one_line():
    one = Mirrored()
    one.flow.detectors = WithOdd(one.flow.order)
    one.write(3)
    one.commit()
    one.poll()
    found = one.flow.take_snapshot(one.now).findings
    assert [(finding.sentence, finding.verdict) for finding in found] == [("It is odd.", Verdict.LOSING)]
    assert found[0].at_ms == one.now
    one.flow.note_ids("A", {"orders": "first"}, one.now)
    one.now += S
    one.flow.note_ids("A", {"orders": "second"}, one.now)
    assert one.flow.detectors.odd.forgotten == ["orders"]


def test_each_detector_is_in_the_list_by_its_own_module():
    kinds = [type(one) for one in Mirrored().flow.detectors]
    assert len(kinds) == len(set(kinds)) > 5
    assert all(Detector in kind.__mro__ for kind in kinds)
    modules = {inspect.getmodule(kind).__name__ for kind in kinds}
    assert modules == {
        f"{path.relative_to(ROOT).with_suffix('')}".replace("/", ".")
        for path in (ROOT / "lagmon" / "mirrors").rglob("*.py")
        if "(Detector):" in path.read_text(encoding="utf-8")
    }


def assignments(source):
    """Return the lines that assign to, or delete, an attribute of a flow."""
    found = []
    for node in ast.walk(ast.parse(source)):
        targets = (
            node.targets
            if isinstance(node, (ast.Assign, ast.Delete))
            else [node.target]
            if isinstance(node, (ast.AugAssign, ast.AnnAssign))
            else []
        )
        flat = [one for target in targets for one in ast.walk(target)]
        found += [
            one.lineno
            for one in flat
            if isinstance(one, ast.Attribute)
            and isinstance(one.value, ast.Name)
            and one.value.id == "flow"
            and isinstance(one.ctx, (ast.Store, ast.Del))
        ]
    return found


@pytest.mark.parametrize(
    ("source", "lines"),
    [
        ("flow.note = 1", [1]),
        ("x = 0\nflow.note += 1", [2]),
        ("a, flow.note = 1, 2", [1]),
        ("del flow.note", [1]),
        ("note = flow.note", []),
        ("other.note = 1", []),
    ],
)
def test_an_assignment_is_seen(source, lines):
    assert assignments(source) == lines


def test_only_what_reads_progress_assigns_to_a_flow():
    mirrors = ROOT / "lagmon" / "mirrors"
    found = {}
    for path in mirrors.rglob("*.py"):
        name = str(path.relative_to(ROOT))
        lines = [] if name.startswith(WRITERS) else assignments(path.read_text(encoding="utf-8"))
        if lines:
            found[name] = lines
    assert found == {}
