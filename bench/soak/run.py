"""A soak from start to end: everything is started, faults come by the plan, and the result is judged."""

from __future__ import annotations

import datetime as dt
import json
import os
import platform
import re
import shutil
import signal
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from confluent_kafka import KafkaException

from bench.soak import judging, page, truth
from bench.soak import result as results
from bench.soak.acts import Acts, wait_for
from bench.soak.faults import BY_NAME, FLOWS
from bench.soak.following import Following
from bench.soak.judging import HEALTHY, Incident, Window
from bench.soak.measuring import Measuring
from bench.soak.schedule import LEAST_QUIET_S, plan, quiet_share
from bench.soak.slopes import flatness
from bench.soak.stack import HORIZON_S, ComponentError, SoakStack
from deploy.local.jars import StackError, kafka_version
from deploy.local.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import FrameType

    from bench.soak.faults import Fault
    from bench.soak.schedule import Planned
    from bench.soak.stack import SoakReplica

MINUTES = 120.0
PARTS = tuple(BY_NAME)
OUT = Path("dist") / "soak.json"
TICK_S = 0.5
STARTS_WITHIN_S = 240.0
# A loss, a change or a repetition stays the verdict for 15 minutes. Faults wait until it is over.
COMES_BACK_S = 17 * 60.0
HEALTHY_FOR_S = 10.0
DRAINS_S = 2 * HORIZON_S + 2.0
ENDS_S = 60.0
LAG_AGREES_S = 90.0
_ACKNOWLEDGED = re.compile(r"(\d+) records acknowledged")


@dataclass(slots=True)
class Soak:
    """One run; `windows` grows with each fault."""

    stack: SoakStack
    planned: Sequence[Planned]
    minutes: float
    seed: int
    acts: Acts
    following: Following
    measuring: Measuring
    begin: float = 0.0
    end: float = 0.0
    windows: list[Window] = field(default_factory=list)
    trouble: list[str] = field(default_factory=list)
    incidents: list[Incident] = field(default_factory=list)
    after: dict[str, Any] = field(default_factory=dict)

    def run(self) -> None:
        """Inject every fault, then compare counters, records and groups."""
        self.following.start()
        try:
            self._start()
            self._inject()
            self._finish()
        except (StackError, TimeoutError, KafkaException, OSError, RuntimeError) as error:
            self._stop(f"the run stopped: {error}")
        except KeyboardInterrupt:
            self._stop("the run was interrupted")
        finally:
            self.measuring.stop()
            self.following.stop()

    def _start(self) -> None:
        leader = self.stack.leader
        leader.wait_healthy(*FLOWS, deadline_s=STARTS_WITHIN_S, held_s=2 * HEALTHY_FOR_S)
        self.measuring.start()
        self.begin = time.time()
        self.end = self.begin + self.minutes * 60
        self._say(f"both flows are healthy, {leader.replica} leads; the run starts")

    def _inject(self) -> None:
        for one in self.planned:
            due = self.begin + one.at_s
            if self.windows:
                due = max(due, self.windows[-1].until + LEAST_QUIET_S)
            self._pause_until(due)
            self._await_healthy()
            window_s = one.window_s + LEAST_QUIET_S
            if time.time() + window_s > self.end + LEAST_QUIET_S:
                self._say(f"{one.fault.name} is left out: earlier faults took longer than planned")
                continue
            self._one_fault(one.fault, one.hold_s)
        self._pause_until(self.end)
        self.end = time.time()

    def _one_fault(self, fault: Fault, hold_s: float) -> None:
        at = time.time()
        self._say(f"{fault.name}: {fault.sentence}")
        self.windows.append(Window(fault, at, self.end, self.end, self.end))  # open until it is known
        self.acts.start(fault)
        self._pause_until(at + hold_s, supervised=not fault.moves_lead and not fault.restarts)
        ended_at = time.time()
        self.acts.end(fault)
        restored_at = time.time()
        window = Window(fault, at, ended_at, restored_at, restored_at + fault.settle_s)
        self.windows[-1] = window
        self._pause_until(window.until)
        self.acts.may_lose_lead = False
        self._report(window)

    def _report(self, window: Window) -> None:
        (row,) = results.injected(
            self._changes(), self.following.shown(), [window], begin=self.begin, end=self.end
        )
        words = [f"{flow} after {_seconds(s)}" for flow, s in row["detected_s"].items()]
        if row["shown_s"] is not None or window.fault.signal:
            words.append(f"{window.fault.signal} after {_seconds(row['shown_s'])}")
        words.append(f"restored in {row['restored_after_s']:g} s")
        words.append(f"healthy {_seconds(row['healthy_after_s'])} after its end")
        self._say(f"{window.fault.name}: {', '.join(words)}")

    def _await_healthy(self) -> None:
        """Wait until both flows are healthy. Raises ComponentError if they do not become so."""

        def healthy() -> bool:
            self._look_after(supervised=True)
            now = {one.flow: (one.verdict, one.cause) for one in self._changes()}
            return all(now.get(flow) == HEALTHY for flow in FLOWS)

        if not healthy():
            self._say("the next fault waits until both flows are healthy")
            if not wait_for(healthy, COMES_BACK_S):
                raise ComponentError(f"the flows were not healthy again within {COMES_BACK_S / 60:g} min")
            self._pause_until(time.time() + HEALTHY_FOR_S)

    def _changes(self) -> list[judging.Change]:
        return judging.of_leaders(self.following.changes(), self.following.shown())

    def _pause_until(self, at: float, *, supervised: bool = True) -> None:
        while (left_s := at - time.time()) > 0:
            self._look_after(supervised=supervised)
            time.sleep(min(TICK_S, left_s))

    def _look_after(self, *, supervised: bool) -> None:
        self.stack.check()
        if supervised:
            self.acts.supervise()

    # --- the end

    def _finish(self) -> None:
        """Let everything come to rest, and compare."""
        leader = self.stack.leader
        self._read_incidents(leader)
        self.measuring.stop()
        self._say("the end: traffic stops, groups and counters are compared")
        acknowledged = self._stop_traffic()
        self.after["groups"] = self._compare_groups(leader)
        for one in (self.stack.other(leader), leader):
            self._stop_replica(one)
        # Outside of its group a replica ends only once all of its probes have an outcome.
        leader.leave_group()
        leader.start()
        leader.wait_healthy(*FLOWS, deadline_s=STARTS_WITHIN_S)
        time.sleep(DRAINS_S)
        self._stop_replica(leader)
        self.after["table_rows"] = truth.table_rows(self.stack.store_url())
        self.after["counters"] = truth.counters(self.stack, self.stack.folder / "counters.db")
        self.after["applications"] = truth.applications(self.stack, acknowledged)
        for one in self.after["applications"].values():
            one["missing_on_source"] = max(0, one["acknowledged"] - one["on_source"])

    def _read_incidents(self, leader: SoakReplica) -> None:
        listed = leader.document("/api/v1/incidents?limit=1000").get("incidents", [])
        self.incidents = [
            Incident(
                one["flow"],
                dt.datetime.fromisoformat(one["started_at"]).timestamp(),
                tuple(one["conditions"]),
            )
            for one in listed
        ]

    def _stop_traffic(self) -> dict[str, int]:
        found = {}
        for process in self.stack.applications:
            alias = process.name.removeprefix("traffic-")
            if alias in self.stack.pair.brokers:
                self.stack.down.add(process.name)
                process.request_stop()
                process.wait(deadline_s=ENDS_S)
                match = _ACKNOWLEDGED.search(process.logged())
                found[alias] = int(match[1]) if match else 0
        return found

    def _compare_groups(self, leader: SoakReplica) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []

        def agree() -> bool:
            found[:] = truth.groups(self.stack, leader)
            return all(one["lag_records"] == one["lag_by_brokers"] == 0 for one in found)

        wait_for(agree, LAG_AGREES_S, every_s=3.0)  # what does not agree by then is in the result
        return found

    def _stop_replica(self, replica: SoakReplica) -> None:
        replica.send(signal.SIGTERM)
        wait_until(
            lambda: not replica.running, deadline_s=ENDS_S, what=f"The end of replica {replica.replica}"
        )
        if replica.exit_status != 0:
            self.trouble.append(f"replica {replica.replica}: status {replica.exit_status} after SIGTERM")

    def _stop(self, sentence: str) -> None:
        self.trouble.append(sentence)
        self.end = min(self.end, time.time()) if self.begin else time.time()
        self.begin = self.begin or self.end
        self._say(sentence)

    def _say(self, sentence: str) -> None:
        since_s = int(max(0.0, time.time() - self.begin)) if self.begin else 0
        clock = time.strftime("%H:%M:%S")
        print(f"{clock} +{since_s // 60:02d}:{since_s % 60:02d} {sentence}", flush=True)

    # --- the result

    def result(self) -> dict[str, Any]:
        """Return all that was found, as a document."""
        changes, shown = self._changes(), self.following.shown()
        begin, end, windows = self.begin, self.end, self.windows
        findings = [
            *judging.false_verdicts(changes, windows, begin=begin, end=end),
            *judging.missed(changes, shown, [one for one in windows if one.restored_at < end]),
            *judging.false_leads([one for one in shown if begin <= one.at <= end], windows),
            *judging.false_incidents(self.incidents, windows, begin=begin),
        ]
        rows = results.injected(changes, shown, windows, begin=begin, end=end)
        measured = self.measuring
        lives = [one for one in measured.lives() if one.lived_s > 0]
        quiet = [age for at, age in measured.audit_ages if judging.is_quiet(at, windows)]
        found: dict[str, Any] = {
            "made_at": dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
            "minutes": round((end - begin) / 60, 1),
            "planned_minutes": self.minutes,
            "seed": self.seed,
            "kafka": kafka_version(),
            "machine": {
                "cores": os.cpu_count(),
                "python": platform.python_version(),
                "load_median": round(median(measured.loads), 1) if measured.loads else 0.0,
                "load_most": round(max(measured.loads, default=0.0), 1),
            },
            "quiet_share": round(judging.quiet_s(windows, begin=begin, end=end) / max(end - begin, 1.0), 3),
            "faults_injected": len(windows),
            "faults": results.by_fault(rows),
            "injected": rows,
            "findings": [results.finding_row(one, begin=begin) for one in sorted(findings, key=_at)],
            "verdict_seconds": judging.seconds_by_verdict(changes, windows, begin=begin, end=end),
            "leads_taken": judging.by_replica(one for one in shown if one.at >= begin),
            "replica_restarts": self.acts.restarts,
            "processes": results.process_rows(
                flatness(one, is_quiet=lambda at: judging.is_quiet(at, windows)) for one in lives
            ),
            "series": results.series(lives),
            "tables": results.tables(measured.tables),
            "scrapes": self._scrapes(),
            "pages": {
                path: {
                    "answers": len(one.took_s),
                    "failed": one.failed,
                    "seconds": results.figures(one.took_s),
                }
                for path, one in sorted(measured.pages.items())
            },
            "pages_by_status": {str(status): n for status, n in sorted(measured.pages_by_status.items())},
            "audit_age_s_in_quiet": results.figures(quiet, 1),
            "groups_not_ok_in_quiet": self._groups_not_ok(),
            "problems_logged": dict(self.following.problems.most_common()),
            "errors_logged": dict(self.following.errors.most_common()),
            "temporary_folders_left": sum(
                len(list(one.scratch.iterdir())) for one in self.stack.replicas.values()
            ),
            "wrong_counters": measured.wrong,
            "bad_answers": measured.bad_answers
            + [
                f"{request}, at {at - begin:.1f} s"
                for at, request in measured.unanswered
                if judging.is_quiet(at, windows)
            ],
            "unanswered": len(measured.unanswered),
            "bad_log_lines": self.following.trouble,
            "trouble": [*self.trouble, *self.acts.trouble, *measured.errors()],
            **self.after,
        }
        found["failures"] = results.failures(found)
        return found

    def _scrapes(self) -> dict[str, Any]:
        found: dict[str, Any] = {"checked": self.measuring.checked, "series_most": self.measuring.series_most}
        for name, one in (
            ("leader", self.measuring.scrapes),
            ("standby", self.measuring.standby_scrapes),
        ):
            found[name] = {
                "answers": len(one.took_s),
                "failed": one.failed,
                "seconds": results.figures(one.took_s, 3),
                "kib": results.figures(size / 1024 for size in one.size_bytes),
            }
        return found

    def _groups_not_ok(self) -> dict[str, int]:
        found: dict[str, int] = {}
        for at, group, status in self.measuring.groups:
            if judging.is_quiet(at, self.windows):
                name = f"{group} status {status:g}"
                found[name] = found.get(name, 0) + 1
        return found


def measure(
    *, minutes: float | None, seed: int, out: Path | None, parts: Sequence[str] = PARTS
) -> dict[str, Any]:
    """Run a soak with these faults, write its result, and return figures with the number of `failures`."""
    length = MINUTES if minutes is None else minutes
    planned = plan(minutes=length, seed=seed, faults=[BY_NAME[name] for name in parts])
    share = quiet_share(planned, minutes=length)
    print(
        f"soak: {length:g} minutes, seed {seed}, {len(planned)} faults, {share:.0%} of the time quiet",
        flush=True,
    )
    for one in planned:
        print(f"  {one.at_s:7.1f} s {one.fault.name}, held for {one.hold_s:g} s", flush=True)
    file = OUT if out is None else out
    file.parent.mkdir(parents=True, exist_ok=True)
    former = signal.signal(signal.SIGTERM, _interrupt)  # so that `with` cleans up
    try:
        found = _measure(planned, length, seed, logs=file.with_suffix(".logs"))
    except KeyboardInterrupt:
        raise SystemExit("the soak was interrupted before it started") from None
    except (StackError, TimeoutError, OSError) as error:
        raise SystemExit(f"the soak could not start: {error}") from None
    finally:
        signal.signal(signal.SIGTERM, former)
    file.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    print(f"\n{page.section(found)}\nwritten to {file}; python -m bench.soak.page {file} prints this section")
    return _numbers(found)


def _measure(planned: Sequence[Planned], minutes: float, seed: int, *, logs: Path) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="mirrorwatch-soak-") as name, SoakStack(Path(name)) as stack:
        soak = Soak(
            stack,
            planned,
            minutes,
            seed,
            acts=Acts(stack),
            following=Following(stack.replicas.values()),
            measuring=Measuring(stack, seed=seed),
        )
        soak.run()
        found = soak.result()
        if found["failures"]:  # the folder of the run is removed, and the evidence with it
            _keep_logs(stack.folder, logs)
        return found


def _keep_logs(folder: Path, kept: Path) -> None:
    shutil.rmtree(kept, ignore_errors=True)
    for log in folder.rglob("*.log"):
        # Brokers keep their data in files of the same suffix.
        if "data" not in log.relative_to(folder).parts:
            target = kept / log.relative_to(folder)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(log, target)
    print(f"the logs are kept in {kept}", flush=True)


def _numbers(found: dict[str, Any]) -> dict[str, Any]:
    """Return what the table of `python -m bench` shows."""
    findings = [row["kind"] for row in found["findings"]]
    figures: dict[str, Any] = {
        "minutes": found["minutes"],
        "faults": found["faults_injected"],
        "quiet_share": found["quiet_share"],
        "false_verdicts": findings.count("false_verdict"),
        "false_incidents": findings.count("false_incident"),
        "false_leads": findings.count("false_lead"),
        "missed_faults": findings.count("missed"),
        "failures": len(found["failures"]),
        "scrape_s": found["scrapes"]["leader"]["seconds"],
        "scrape_kib": found["scrapes"]["leader"]["kib"],
    }
    for part, row in page.longest(found).items():
        figures[part] = {
            "lived_minutes": row["lived_minutes"],
            "rss_mib": row["rss_last_mib"],
            "rss_mib_per_hour": row["rss_mib_per_hour"],
            "files": row["files_last"],
            "files_per_hour": row["files_per_hour"],
            "cpu_share": row["cpu_share"],
        }
    if "counters" in found:
        figures["violations"] = len(found["counters"]["violations"])
    return figures


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _seconds(value: float | None) -> str:
    return "never" if value is None else f"{value:.1f} s"


def _at(finding: judging.Finding) -> float:
    return finding.at
