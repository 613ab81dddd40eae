"""One list of words for all parts: what each part calls a thing is what the catalogue and the docs call it."""

from __future__ import annotations

import ast

import pytest

from alerts.objectives import ObjectiveKind
from canary.report import CollectorCounts
from canary.tracker.counters import Flag, Outcome
from canary.tracker.events import Stage
from checksum.compare.findings import RecordVerdict
from fleet.series import catalogue as series
from fleet.series import checksum as series_checksum
from fleet.series.catalogue import CATALOGUE
from fleet.series.process import PROCESS_CATALOGUE
from fleet.verdicts.vocabulary import Cause, Verdict
from mirrorwatch.lag.collected import CollectedCounts
from runtime.kafka.round_trip import RoundTripOutcome
from tests.house.import_rules import LAYERS
from tests.house.product_files import ROOT, product_files, relative

CATALOGUE_FILES = {
    "fleet/series/catalogue.py",
    "fleet/series/checksum.py",
    "fleet/series/failover.py",
    "fleet/series/lag.py",
}
NAMES = {name for one in CATALOGUE for name in (one.name, one.full_name)}


def test_each_part_calls_how_things_end_what_the_catalogue_calls_it():
    assert tuple(Outcome) == series.OUTCOMES
    assert tuple(Flag) == series.FLAGS
    assert tuple(Stage) == series.STAGES
    assert tuple(ObjectiveKind) == series.OBJECTIVES
    assert tuple(RoundTripOutcome) == series.CONTROL_OUTCOMES
    assert tuple(CollectorCounts().errors) == series.CANARY_COLLECTORS
    assert tuple(CollectedCounts().document("A")["errors"]) == series.LAG_COLLECTORS
    assert tuple(RecordVerdict) == series_checksum.RECORD_VERDICTS


@pytest.mark.parametrize(
    "path",
    [path for path in product_files(set(LAYERS)) if relative(path) not in CATALOGUE_FILES],
    ids=relative,
)
def test_the_name_of_a_series_is_spelled_only_in_the_catalogue(path):
    strings = [
        node.value
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]
    assert NAMES.isdisjoint(strings)


def test_every_verdict_and_cause_is_in_the_reference():
    page = (ROOT / "docs" / "reference" / "metrics.md").read_text(encoding="utf-8")
    assert [word for word in (*Verdict, *Cause) if f"`{word.value}`" not in page] == []


def test_every_series_of_the_catalogue_is_told_by_the_service():
    # Whoever tells a series names its constant; what nobody names is a promise that /metrics does not keep.
    named = set()
    for path in product_files({"canary", "lagmon", "mirrorwatch"}):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            match node:
                case ast.Attribute(attr=name) | ast.Name(id=name) | ast.alias(name=name):
                    named.add(name)
    whole = PROCESS_CATALOGUE if "PROCESS_CATALOGUE" in named else ()
    assert [one.name for one in CATALOGUE if one.name.upper() not in named and one not in whole] == []
