"""The demo as a person sees it: it starts, shows a fault and what was said of it, and leaves nothing behind."""

from __future__ import annotations

import json
import re
import signal
import socket
import subprocess
import sys
import threading
import urllib.parse
import urllib.request
from pathlib import Path

import pytest

from tests.eventually import eventually

ROOT = Path(__file__).parents[3]


class Demo:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.lines: list[str] = []
        self.process = subprocess.Popen(
            [sys.executable, "-m", "deploy.local.demo", "--dir", str(folder), "--every", "1000"],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self._reader = threading.Thread(
            target=lambda: self.lines.extend(iter(self.process.stdout.readline, ""))
        )
        self._reader.start()

    def says(self, pattern, deadline_s):
        return eventually(
            lambda: (
                re.search(pattern, self.text) or (self.process.poll() is not None and pytest.fail(self.text))
            ),
            deadline_s,
            what=pattern,
        )

    @property
    def text(self):
        return "".join(self.lines)

    def types(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def close(self):
        self.process.kill()
        self.process.wait()
        self._reader.join()
        self.process.stdin.close()
        self.process.stdout.close()


@pytest.fixture
def demo(tmp_path):
    running = Demo(tmp_path / "demo")
    try:
        yield running
    finally:
        running.close()


def processes_of(folder):
    found = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            command = entry.read_bytes().replace(b"\0", b" ").decode()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if str(folder) in command:
            found.append(command)
    return found


def asked(url):
    try:
        with urllib.request.urlopen(url, timeout=2) as answer:  # noqa: S310  (the demo's own http address)
            return json.load(answer)
    except OSError:
        return None


def names_of(alerts):
    return {one["labels"]["alertname"] for one in alerts or ()}


def names_on(address, names):
    """Return those of the names that stand on a page."""
    with urllib.request.urlopen(address, timeout=5) as answer:  # noqa: S310
        page = answer.read().decode()
    return {one for one in names if one in page}


def offsets_are_on_the_pages(text):
    """Expect the demo's groups and what its mirror has copied, as JSON and on the pages that it names."""
    service = re.search(r"mirrorwatch +(\S+)", text)[1]
    wanted = {("A", "billing"), ("A", "page-statistics"), ("B", "order-search")}

    def told():
        found = asked(f"{service}/api/v1/groups") or {"groups": []}
        return wanted <= {(one["kafka_cluster"], one["group"]) for one in found["groups"]}

    eventually(told, 60, what="three groups, beside those that the mirror itself has made of A's on B")
    eventually(lambda: asked(f"{service}/api/v1/flows/A:B/offsets")["count"], 60, what="the mirror's offsets")
    for name, names in (("groups", {group for _, group in wanted}), ("mirror", {"orders", "payments"})):
        address = re.search(rf"its {name} +(\S+)", text)[1]
        eventually(
            lambda at=address, all_of=names: all_of <= names_on(at, all_of), 60, what=f"{names} on {address}"
        )


def test_a_round_is_seen_by_the_service_and_by_prometheus_and_nothing_is_left(demo):
    demo.says(r"Next is freeze-mirror", 150)
    assert re.search(r"Ready after \d+ s", demo.text)
    prometheus = re.search(r"Prometheus +(\S+)/alerts", demo.text)[1]
    alerts = re.search(r"Alertmanager +(\S+)", demo.text)[1]
    offsets_are_on_the_pages(demo.text)
    demo.types("freeze-mirror")
    demo.says(r"after +[\d.]+ s mirrorwatch reports stalled", 60)
    demo.says(r"after +[\d.]+ s Mirrorwatch(ReplicationStalled|NoRecordsArrive) fires: .* A->B", 60)
    routed = eventually(lambda: names_of(asked(alerts)), 30, what="an alert")
    assert routed <= {"MirrorwatchReplicationStalled", "MirrorwatchNoRecordsArrive", "MirrorwatchWatchdog"}
    demo.says(r"fault ended\n.*A->B is healthy", 60)
    fired = urllib.parse.quote('max_over_time(ALERTS{severity="critical",alertstate="firing"}[5m])')
    found = asked(f"{prometheus}/api/v1/query?query={fired}")["data"]["result"]
    assert {one["metric"]["flow"] for one in found} == {"A->B"}
    demo.process.send_signal(signal.SIGINT)
    demo.says(r"Stopping everything", 10)
    demo.says(r"Stopped\. Logs", 30)
    assert demo.process.wait(10) == 0
    assert processes_of(demo.folder) == []


@pytest.mark.long
def test_a_taken_port_is_said_and_a_second_interrupt_ends_at_once(tmp_path):
    with socket.socket() as taken:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # old connections do not make it taken
        try:
            taken.bind(("127.0.0.1", 9699))
        except OSError:
            pass  # somebody else has it, which serves as well
        else:
            taken.listen()
        demo = Demo(tmp_path / "demo")
        try:
            demo.says(r"Port 9699 is taken, so Mirrorwatch listens on \d+", 90)
            demo.process.send_signal(signal.SIGINT)
            demo.says("Stopping everything", 10)
            demo.process.send_signal(signal.SIGINT)
            assert demo.process.wait(5) == 130
            eventually(lambda: processes_of(demo.folder) == [], 5, what="the end of every process")
        finally:
            demo.close()


def test_a_folder_with_other_files_is_left_alone(tmp_path):
    (tmp_path / "precious").write_text("keep me")
    demo = Demo(tmp_path)
    try:
        assert demo.process.wait(20) == 1
        eventually(lambda: "holds other files" in demo.text, 5)
    finally:
        demo.close()
    assert [file.name for file in tmp_path.iterdir()] == ["precious"]
