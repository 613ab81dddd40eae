"""Prometheus itself reads the joined answer, plain and compressed, with every odd name."""

from __future__ import annotations

import asyncio
import json
import shutil
import subprocess

import numpy as np
import pytest
from aiohttp import ClientSession, web
from aiohttp.test_utils import TestServer
from prometheus_client import CollectorRegistry, Gauge
from prometheus_client.exposition import choose_encoder

from deploy.local.ports import free_port
from deploy.local.process import Process
from fleet.series.lag import GROUP_LAG_SECONDS, GROUP_PARTITION_LAG_RECORDS, OVERTAKEN_RECORDS_TOTAL
from lagmon.exposition.compression import Deflated
from lagmon.exposition.families import Exposition
from lagmon.exposition.family import Family
from lagmon.exposition.format import Form, form_of
from lagmon.exposition.joining import joined, joined_gzip
from tests.lagmon.exposition.test_families import ODD, every_series, rendered

pytestmark = pytest.mark.real
SERIES = 2000
CONTROLS = "".join(map(chr, (*range(32), *range(127, 160))))
NAMES = [*ODD, CONTROLS, "g" * 32_768 + "h"]


def installed(program):
    path = shutil.which(program)
    assert path, f"{program} is not installed: make monitoring"
    return path


def test_promtool_finds_nothing_to_say_about_any_series():
    values = every_series()
    text = rendered(Exposition(list(values)), values)
    command = [installed("promtool"), "check", "metrics"]
    checked = subprocess.run(command, input=text.encode(), capture_output=True, check=False, timeout=30)
    assert checked.stdout + checked.stderr == b""
    assert checked.returncode == 0


def families():
    """Return families with odd names, thousands of series, a counter and seconds, and their values."""
    partitions = Family(GROUP_PARTITION_LAG_RECORDS, max_series=SERIES)
    for row in range(SERIES + 5):
        partitions.put(row, ["A", f"group-{row % 50}", f"orders-{row % 7}", str(row)])
    seconds = Family(GROUP_LAG_SECONDS)
    for row, name in enumerate(NAMES):
        seconds.put(row, ["A", name])
    overtaken = Family(OVERTAKEN_RECORDS_TOTAL)
    overtaken.put(0, ["A->B", "A", "B", "orders"])
    return {
        partitions: np.arange(SERIES + 5),
        seconds: np.arange(len(NAMES)) + 0.125,
        overtaken: np.array([12]),
    }


class Scraped:
    """A service of two parts: what the client library tells, and the large families after it."""

    def __init__(self, *, plain_only):
        self._plain_only = plain_only
        self._values = families()
        self._large = Exposition(list(self._values))
        self._registry = CollectorRegistry()
        Gauge("mirrorwatch_own", "Told by the library.", registry=self._registry).set(1)
        self.seen = set()

    async def metrics(self, request):
        encode, content_type = choose_encoder("" if self._plain_only else request.headers["Accept"])
        form = form_of(content_type)
        headers = {"Content-Type": content_type}
        own, large = encode(self._registry), self._large.render(self._values, form)
        pieces = joined(own, large, form)
        if "gzip" in request.headers.get("Accept-Encoding", "") and request.path == "/gzip":
            parts = Deflated(large)
            pieces = joined_gzip(own, parts, lambda: parts.checksum, form)
            headers["Content-Encoding"] = "gzip"
        answer = web.StreamResponse(headers=headers)
        await answer.prepare(request)
        for piece in pieces:
            await answer.write(piece)
        self.seen.add((request.path, form))
        return answer


def prometheus(folder, target, path):
    address = f"127.0.0.1:{free_port()}"
    job = {"job_name": "it", "metrics_path": path, "static_configs": [{"targets": [target]}]}
    settings = {"global": {"scrape_interval": "1s"}, "scrape_configs": [job]}
    (folder / "prometheus.yml").write_text(json.dumps(settings), encoding="utf-8")
    options = [
        f"--config.file={folder / 'prometheus.yml'}",
        f"--storage.tsdb.path={folder / 'data'}",
        f"--web.listen-address={address}",
        "--log.level=warn",
    ]
    return Process("prometheus", [installed("prometheus"), *options], folder=folder), f"http://{address}"


async def result(client, url, query):
    """Return what a query gives, and nothing while Prometheus does not answer."""
    try:
        async with client.get(f"{url}/api/v1/query", params={"query": query}) as answer:
            return (await answer.json())["data"]["result"] if answer.status == 200 else []
    except OSError:
        return []


@pytest.mark.parametrize("path", ["/plain", "/gzip"])
@pytest.mark.parametrize("form", list(Form))
async def test_prometheus_reads_both_parts(tmp_path, path, form):
    service = Scraped(plain_only=form is Form.PLAIN)
    app = web.Application()
    app.router.add_get(path, service.metrics)
    async with TestServer(app) as server, ClientSession() as client:
        process, url = prometheus(tmp_path, f"127.0.0.1:{server.port}", path)
        process.start()
        try:
            async with asyncio.timeout(60):
                while not await result(client, url, "up == 1"):  # noqa: ASYNC110 - Prometheus signals nothing
                    await asyncio.sleep(0.1)
            groups = await result(client, url, GROUP_LAG_SECONDS.full_name)
            (count,) = await result(client, url, f"count({GROUP_PARTITION_LAG_RECORDS.full_name})")
            (total,) = await result(client, url, f"sum({GROUP_PARTITION_LAG_RECORDS.full_name})")
            (overtaken,) = await result(client, url, OVERTAKEN_RECORDS_TOTAL.full_name)
            (dropped,) = await result(client, url, "mirrorwatch_series_dropped_total")
            (own,) = await result(client, url, "mirrorwatch_own")
        finally:
            process.kill()
    assert service.seen == {(path, form)}
    assert "error" not in process.logged()
    assert int(count["value"][1]) == SERIES
    assert int(total["value"][1]) == sum(range(SERIES))
    assert [one["value"][1] for one in (overtaken, dropped, own)] == ["12", "5", "1"]
    by_value = {float(one["value"][1]): one["metric"].get("group", "") for one in groups}
    assert len(by_value) == len(NAMES)
    for row, name in enumerate(NAMES):
        shown = by_value[row + 0.125]
        assert shown == name if row in range(6) or name is CONTROLS else "~" in shown
