"""Who says nothing of `lag` has the lag monitor; who says off has neither its process nor answers of it."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.error
import urllib.request
from contextlib import suppress
from pathlib import Path

import pytest

from deploy.local.ports import free_port
from tests.eventually import eventually

WITHIN_S = 60
OFFSETS = "/api/v1/flows/A:B/offsets"


@pytest.fixture
def serving(tmp_path):
    """Give a function that runs a service, with these sections, on clusters that are away; its id and URL."""
    started = []

    def serve(**sections):
        url = f"127.0.0.1:{free_port()}"
        away = {"bootstrap.servers": "127.0.0.1:1"}
        document = {"clusters": {"A": away, "B": away}, "flows": {"A->B": {}}, "http": {"listen": url}}
        path = tmp_path / "mirrorwatch.yaml"
        path.write_text(json.dumps(document | sections), encoding="utf-8")
        command = [sys.executable, "-m", "mirrorwatch", "run", str(path)]
        with (tmp_path / "log").open("wb") as log:
            process = subprocess.Popen(command, stdout=log, stderr=log)
        started.append(process)
        eventually(lambda: asked(f"http://{url}/-/healthy")[0] == 200, WITHIN_S, what="the service")
        return process.pid, f"http://{url}"

    yield serve
    for process in started:
        process.terminate()
        assert process.wait(WITHIN_S) == 0


def asked(url):
    """Return status and body; status 0 while nobody answers."""
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:  # noqa: S310  (our own loopback)
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()
    except OSError:
        return 0, ""


def children(pid):
    """Return the command lines of the processes that this one has started."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has ended meanwhile
            parent = (entry / "stat").read_text().rpartition(")")[2].split()[1]
            if int(parent) == pid:
                found.append((entry / "cmdline").read_bytes().replace(b"\0", b" ").decode())
    return found


def test_without_a_word_of_it_there_is_one(serving):
    pid, url = serving()
    eventually(lambda: any("-m lagmon" in one for one in children(pid)), WITHIN_S, what="its process")
    eventually(lambda: "groups" in json.loads(asked(f"{url}/api/v1/groups")[1]), WITHIN_S, what="its answer")


def test_with_off_there_is_neither_a_process_nor_an_answer(serving):
    pid, url = serving(lag={"commits": "off"})
    eventually(lambda: asked(f"{url}/-/ready")[0] == 200, WITHIN_S, what="every cluster tried once")
    assert children(pid) == []
    for path in (
        "/api/v1/groups",
        "/api/v1/groups/A/g",
        OFFSETS,
        "/groups",
        "/flows/A:B/offsets",
        "/v3/kafka",
    ):
        assert asked(url + path)[0] in (404, 503), path
    page, flows = asked(f"{url}/")[1], json.loads(asked(f"{url}/api/v1/flows")[1])
    assert "Consumer groups" not in page
    assert [one for one in flows["flows"] if "lag" in one["parts"]] == []
    assert "mirrorwatch_group_" not in asked(f"{url}/metrics")[1]
