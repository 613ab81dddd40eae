"""What the rules and `render` cost for many flows: a real Prometheus with three days of samples, and a clock.

Only what a rule reads is back-filled: recorded counts of five minutes for three days, and the rest for an
hour or two.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import re
import shutil
import subprocess
import tempfile
import time
import urllib.request
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import numpy as np

from alerts.objectives import FlowFacts, defaults_of
from alerts.rules import all_groups
from alerts.rules.budgets import BAD, ERROR, SPARSE_COUNT, STEP_S, VALID
from alerts.rules.cases import STEP_S as SCRAPE_S
from alerts.rules.document import Links, rules_document
from alerts.rules.lag import WAITING
from alerts.rules.rule import promql_duration
from alerts.rules.watching import JOB
from canary.tracker.counters import Flag, Outcome
from deploy.local.monitoring import answer_of
from deploy.local.ports import free_port
from deploy.local.process import Process
from fleet.series import catalogue as series
from fleet.series import lag as series_lag
from fleet.verdicts.vocabulary import CONDITIONS, Cause
from mirrorwatch.configuration.reading import read_configuration
from mirrorwatch.history.rendering import files_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

FLOWS, TOPICS, PARTITIONS = 50, 12, 12
RENDERED_FLOWS, RENDERED_CLUSTERS = 200, 15
DAYS = 3
EVALUATIONS = 9
_HOUR_S, _DAY_S = 3600, 86_400
_RECORDED_S = 30
_EVERY_S = 5  # instead of up to five minutes from one evaluation to the next
_LONGEST_BLOCK = f"{DAYS * 24}h"
_READY_S = 60.0
_AHEAD_S = 120  # samples go so far past the start, since writing them takes a while
_ALERTS = ("availability", "freshness", "recovery_point")


def measure() -> dict[str, Any]:
    """Return how long one evaluation of all groups takes, by group, and how long `render` takes."""
    with tempfile.TemporaryDirectory(prefix="mirrorwatch-rules-") as name:
        folder = Path(name)
        return {
            "flows": FLOWS,
            "render_200_flows_ms": _rendered_ms(folder),
            "evaluation_ms": _evaluated_ms(folder),
        }


def _rendered_ms(folder: Path) -> dict[str, float]:
    aliases = _aliases(RENDERED_CLUSTERS)
    pairs = itertools.islice(itertools.permutations(aliases, 2), RENDERED_FLOWS)
    document = {
        "mirror_version": "4.3",
        "clusters": {alias: {"bootstrap.servers": f"{alias}:9092"} for alias in aliases},
        "flows": {f"{source}->{target}": {"topics": ".*"} for source, target in pairs},
    }
    path = folder / "mirrorwatch.yaml"
    path.write_text(json.dumps(document), encoding="utf-8")  # JSON is YAML
    began, spent = time.perf_counter(), time.process_time()
    files_of(read_configuration(path, environ={}), kubernetes=True)
    took_s, spent_s = time.perf_counter() - began, time.process_time() - spent
    return {"took": round(took_s * 1000, 1), "processor_time": round(spent_s * 1000, 1)}


def _aliases(flows: int) -> list[str]:
    return [f"C{number}" for number in range(flows + 1)]


def _evaluated_ms(folder: Path) -> dict[str, float]:
    now_s = int(time.time())
    data = folder / "data"
    for part, samples in (("recorded", _recorded(now_s)), ("raw", _raw(now_s))):
        text = folder / f"{part}.om"
        _write(text, samples)
        _backfill(text, data)
        text.unlink()
    process, address = _prometheus(folder, data)
    time.sleep(max(0.0, now_s + _AHEAD_S - time.time()))  # what is older than the newest block is refused
    process.start()
    try:
        return _times(address)
    finally:
        process.kill()


def _times(address: str) -> dict[str, float]:
    """Return the median time of each group's evaluation in ms, and that of all together."""
    _processor_s(address)
    time.sleep(2 * _EVERY_S)  # the first evaluation reads the index
    began, spent_s = time.monotonic(), _processor_s(address)
    seen: dict[str, list[float]] = {}  # by group, what each evaluation took
    for _ in range(EVALUATIONS):
        time.sleep(_EVERY_S)
        groups = (answer_of(address, "/api/v1/rules") or {"data": {"groups": []}})["data"]["groups"]
        for group in groups:
            wrong = [rule["lastError"] for rule in group["rules"] if rule["health"] == "err"]
            if wrong:
                raise RuntimeError(f"{group['name']}: {wrong[0]}")
            seen.setdefault(group["name"], []).append(group["evaluationTime"] * 1000)
    found = {name: round(median(times), 1) for name, times in seen.items()}
    rounds = (time.monotonic() - began) / _EVERY_S
    processor_ms = 1000 * (_processor_s(address) - spent_s) / rounds
    return {**found, "all": round(sum(found.values()), 1), "all_processor_time": round(processor_ms, 1)}


def _processor_s(address: str) -> float:
    """Return the processor time that Prometheus has used, once it answers."""
    until = time.monotonic() + _READY_S
    while time.monotonic() < until:
        with contextlib.suppress(OSError), urllib.request.urlopen(f"http://{address}/metrics") as answer:
            found = re.search(r"^process_cpu_seconds_total (\S+)", answer.read().decode(), re.MULTILINE)
            if found is not None:
                return float(found[1])
        time.sleep(0.2)
    raise TimeoutError("Prometheus does not answer")


def _prometheus(folder: Path, data: Path) -> tuple[Process, str]:
    names = [(one["flow"], one["source_cluster"], one["target_cluster"]) for one in _flows()]
    flows = [FlowFacts(*each, has_canary=True) for each in names]
    objectives = [one for each in names for one in defaults_of(*each, has_canary=True)]
    document = rules_document(all_groups(objectives, flows), Links(service="http://127.0.0.1:9699"))
    for group in document["groups"]:
        group["interval"] = promql_duration(_EVERY_S)
    (folder / "rules.yml").write_text(json.dumps(document), encoding="utf-8")
    (folder / "prometheus.yml").write_text(json.dumps({"rule_files": ["rules.yml"]}), encoding="utf-8")
    address = f"127.0.0.1:{free_port()}"
    options = [
        f"--config.file={folder / 'prometheus.yml'}",
        f"--storage.tsdb.path={data}",
        f"--web.listen-address={address}",
        "--storage.tsdb.retention.time=30d",
        "--log.level=warn",
    ]
    environment = {"GOMAXPROCS": "2"}
    return Process("prometheus", ["prometheus", *options], folder=folder, environment=environment), address


def _backfill(text: Path, data: Path) -> None:
    program = shutil.which("promtool")
    if program is None:
        raise RuntimeError("promtool: missing; install it with make monitoring")
    command = [program, "tsdb", "create-blocks-from", "openmetrics", f"--max-block-duration={_LONGEST_BLOCK}"]
    done = subprocess.run([*command, text, data], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"promtool: {done.stdout[-500:]}{done.stderr[-500:]}")


def _write(path: Path, samples: Iterable[tuple[str, Mapping[str, str], Iterable[tuple[int, float]]]]) -> None:
    with path.open("w", encoding="utf-8") as file:
        for name, labels, values in samples:
            pairs = ",".join(f'{key}="{value}"' for key, value in labels.items())
            file.writelines(f"{name}{{{pairs}}} {value:g} {at}\n" for at, value in values)
        file.write("# EOF\n")


def _flows() -> list[dict[str, str]]:
    return [
        {"flow": f"C0->C{number}", "source_cluster": "C0", "target_cluster": f"C{number}"}
        for number in range(1, FLOWS + 1)
    ]


def _recorded(now_s: int) -> Iterator[tuple[str, dict[str, str], Iterable[tuple[int, float]]]]:
    """Yield what rules have recorded: one flow in ten fails now and then."""
    chance = np.random.default_rng(1)
    long = range(now_s - DAYS * _DAY_S, now_s + _AHEAD_S, int(STEP_S))
    short = range(now_s - 2 * _HOUR_S, now_s + _AHEAD_S, _RECORDED_S)
    windows = ("5m", "30m", "1h", "2h", "6h", "1d", "3d")
    names = [kind + window for kind in (BAD, VALID, ERROR) for window in windows]
    for name in (*names, *(kind + SPARSE_COUNT for kind in (BAD, VALID))):
        times = long if name.endswith(SPARSE_COUNT) else short
        for number, labels in enumerate(_flows()):
            for objective in _ALERTS:
                good, bad = (3600.0, 40.0) if objective != "recovery_point" else (1.0, 1.0)
                fails = number % 10 == 0
                values = (
                    (at, _recorded_value(name, chance, good, bad if fails and at % 7200 < 300 else 0.0))
                    for at in times
                )
                yield name, {**labels, "objective": objective}, values
    for labels in _flows():
        yield WAITING, labels, ((at, 100.0) for at in short)


def _recorded_value(name: str, chance: np.random.Generator, good: float, bad: float) -> float:
    if name.startswith(VALID):
        return good if good == 1.0 else good + float(chance.integers(-12, 13))
    return bad if name.startswith(BAD) else bad / good


def _raw(now_s: int) -> Iterator[tuple[str, dict[str, str], Iterable[tuple[int, float]]]]:
    """Yield what scrapes of the last hour have stored."""
    times = range(now_s - _HOUR_S, now_s + _AHEAD_S, SCRAPE_S)
    yield "up", {"job": JOB, "instance": "a:1"}, ((at, 1.0) for at in times)
    for alias in _aliases(FLOWS):
        for one in (series.KAFKA_CLUSTER_UP, series.KAFKA_CLUSTER_CLOCK_SKEW_SECONDS):
            value = float(one is series.KAFKA_CLUSTER_UP)
            yield one.full_name, {"kafka_cluster": alias}, [(at, value) for at in times]
    for one, more, rate in _raw_series():
        for labels in _flows():
            start = float(now_s - _HOUR_S) if one is series.CANARY_LAST_ARRIVAL_TIMESTAMP_SECONDS else 0.0
            yield one.full_name, {**labels, **more}, [(at, start + rate * (at - times[0])) for at in times]


def _raw_series() -> Iterator[tuple[Any, dict[str, str], float]]:
    """Yield each series of a flow, the labels that it has beside the flow's, and its growth a second."""
    probes = float(PARTITIONS)
    yield series.FLOW_INFO, {"policy": "default"}, 0.0
    for one in (series.CANARY_THRESHOLD_SECONDS, series.CANARY_INTERVAL_SECONDS):
        yield one, {}, 0.0
    yield series.FLOW_RECOVERY_POINT_AGE_SECONDS, {}, 0.0
    yield series.MM2_HEARTBEAT_AGE_SECONDS, {}, 0.0
    yield series.CANARY_LAST_ARRIVAL_TIMESTAMP_SECONDS, {}, 1.0
    for one in (
        series.CANARY_EXPECTED_TOTAL,
        series.CANARY_SETTLED_TOTAL,
        series.CANARY_GOOD_TOTAL,
        series.CANARY_CONCLUDED_TOTAL,
        series.CANARY_DELIVERED_TOTAL,
    ):
        yield one, {}, probes
    for outcome in Outcome:
        yield series.CANARY_PROBES_TOTAL, {"outcome": outcome.value}, probes * (outcome is Outcome.GOOD)
    for flag in Flag:
        yield series.CANARY_PROBE_FLAGS_TOTAL, {"flag": flag.value}, 0.0
    for condition in CONDITIONS:
        yield series.FLOW_CONDITION, {"condition": condition.value}, 0.0
    for cause in Cause:
        yield series.FLOW_CAUSE, {"cause": cause.value}, 0.0
    lags = (series_lag.REPLICATION_TOPIC_LAG_RECORDS, series_lag.REPLICATION_TOPIC_LAG_SECONDS)
    ends = (series_lag.REPLICATION_SOURCE_END_OFFSET, series_lag.REPLICATION_TARGET_END_OFFSET)
    for one, topic in itertools.product((*lags, *ends), range(TOPICS)):
        yield one, {"topic": f"orders-{topic}"}, 100.0 * (one in ends)
