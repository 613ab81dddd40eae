"""The product keeps the house's rules about imports and state; and each rule is seen to bite."""

from __future__ import annotations

import tomllib

import pytest

from tests.house.import_rules import HOMES, LAYERS, NEVER_SHIPPED, PURE, breaches
from tests.house.product_files import ROOT, product_files, relative
from tests.house.state_rules import state_breaches

FILES = product_files(set(LAYERS))


@pytest.mark.parametrize("path", FILES, ids=relative)
def test_every_file_keeps_the_import_rules(path):
    assert breaches(relative(path), path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("path", FILES, ids=relative)
def test_no_module_keeps_state(path):
    assert state_breaches(relative(path), path.read_text(encoding="utf-8")) == []


def test_the_walk_sees_the_whole_product():
    wheel = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["wheel"]
    assert {relative(path).split("/")[0] for path in FILES} == set(wheel["packages"])
    assert len(FILES) > 20


def test_every_folder_with_python_in_it_has_its_place():
    here = {
        path.name
        for path in ROOT.iterdir()
        if path.is_dir() and not path.name.startswith(".") and any(path.rglob("*.py"))
    }
    assert here <= set(LAYERS) | NEVER_SHIPPED


def test_every_direct_dependency_has_a_home():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = [line for lines in project["optional-dependencies"].values() for line in lines]
    names = {line.split("==")[0].replace("-", "_") for line in [*project["dependencies"], *extras]}
    imported_as = {
        "pyyaml": "yaml",
        "aws_msk_iam_sasl_signer_python": "aws_msk_iam_sasl_signer",
        "markdown_it_py": "markdown_it",
    }
    by_others = {"psycopg[binary]"}  # SQLAlchemy imports it, where an address asks for it
    assert {imported_as.get(name, name) for name in names - by_others} <= set(HOMES)


BAD_IMPORTS = [
    # the layers
    ("fleet/a.py", "import runtime", "fleet does not import runtime"),
    ("fleet/a.py", "from canary.tracker.counters import Flag", "fleet does not import canary"),
    ("runtime/a.py", "import canary.tracker.counters", "runtime does not import canary"),
    ("runtime/a.py", "from mirrorwatch import view", "runtime does not import mirrorwatch"),
    ("canary/a.py", "from lagmon import x", "canary does not import lagmon"),
    ("lagmon/a.py", "from canary import x", "lagmon does not import canary"),
    ("checksum/a.py", "from lagmon import x", "checksum does not import lagmon"),
    ("canary/a.py", "def f():\n    from mirrorwatch import view", "canary does not import mirrorwatch"),
    ("alerts/a.py", "import dashboards", "alerts does not import dashboards"),
    ("alerts/a.py", "import canary", "alerts does not import canary"),
    ("dashboards/a.py", "import runtime", "dashboards does not import runtime"),
    ("dashboards/a.py", "import mirrorwatch", "dashboards does not import mirrorwatch"),
    ("canary/sub/a.py", "from ... import lagmon", "canary does not import lagmon"),
    (
        "runtime/a.py",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import canary",
        "runtime does not import canary",
    ),
    # never shipped
    ("mirrorwatch/a.py", "from deploy.local import stack", "deploy is never imported by the product"),
    ("runtime/a.py", "import tests.conftest", "tests is never imported by the product"),
    ("canary/a.py", "import bench", "bench is never imported by the product"),
    # pure modules
    ("fleet/a.py", "import numpy", "fleet imports the standard library and itself, not numpy"),
    ("fleet/a.py", "import socket", "socket has no place in a pure module"),
    ("fleet/a.py", "import asyncio", "asyncio has no place in a pure module"),
    ("fleet/a.py", "from time import monotonic", "time.monotonic has no place in a pure module"),
    ("fleet/a.py", "import logging.handlers", "logging.handlers has no place in a pure module"),
    ("canary/tracker/tracker.py", "import random", "random has no place in a pure module"),
    ("canary/tracker/tracker.py", "def f():\n    import time", "time has no place in a pure module"),
    ("canary/tracker/counters.py", "from canary.tap import Tap", "not canary.tap.Tap"),
    ("canary/tracker/counters.py", "from canary import tap", "not canary.tap"),
    ("canary/site/topic_advice.py", "from . import tap", "not canary.site.tap"),
    ("canary/tracker/counters.py", "import runtime.process.clock", "not runtime.process.clock"),
    ("canary/tracker/counters.py", "import aiohttp", "fleet and pure siblings, not aiohttp"),
    ("fleet/a.py", "from datetime import datetime\nx = datetime.now()", "now() reads the clock"),
    ("fleet/a.py", "import datetime\nx = datetime.date.today()", "today() reads the clock"),
    ("canary/tracker/plan.py", "import datetime as d\nx = d.datetime.utcnow()", "utcnow() reads the clock"),
    ("canary/tracker/plan.py", "from datetime import datetime as d\nx = d.now()", "now() reads the clock"),
    ("canary/tracker/plan.py", "from datetime import datetime\nread = datetime.now", "now() reads the clock"),
    # each library in its own place
    ("canary/tap.py", "import confluent_kafka", "confluent_kafka is imported only in runtime/kafka/*.py"),
    (
        "runtime/process/clock.py",
        "from confluent_kafka.admin import AdminClient",
        "confluent_kafka is imported only in",
    ),
    ("canary/tracks.py", "from pydantic import BaseModel", "pydantic is imported only in */config.py"),
    (
        "canary/a.py",
        "import prometheus_client",
        "prometheus_client is imported only in mirrorwatch/service/metrics.py",
    ),
    ("mirrorwatch/web/routes/main.py", "import prometheus_client", "prometheus_client is imported only in"),
    ("runtime/process/clock.py", "import sqlalchemy", "sqlalchemy is imported only in"),
    ("mirrorwatch/cli/main.py", "import yaml", "yaml is imported only in runtime/config/strict_yaml.py"),
    ("mirrorwatch/web/pages/page.py", "from aiohttp import web", "aiohttp is imported only in"),
    ("canary/tap.py", "import aiohttp", "aiohttp is imported only in"),
    (
        "mirrorwatch/web/routes/main.py",
        "import jinja2",
        "jinja2 is imported only in mirrorwatch/web/pages/page.py",
    ),
    ("mirrorwatch/cli/main.py", "import structlog", "structlog is imported only in runtime/process/logs*.py"),
    ("runtime/process/logs.py", "import click", "click is imported only in mirrorwatch/*.py"),
    ("runtime/process/logs.py", "import rich", "rich is imported only in mirrorwatch/*.py"),
    ("mirrorwatch/a.py", "import pyspark", "pyspark is imported only in checksum/*.py"),
    ("alerts/a.py", "import grafanalib", "grafanalib is imported only in dashboards/builder.py"),
    ("mirrorwatch/a.py", "import cryptography", "cryptography is imported only in runtime/*.py"),
    ("mirrorwatch/a.py", "import bcrypt", "bcrypt is imported only in runtime/*.py"),
    ("mirrorwatch/a.py", "import requests", "requests is no library that the house knows"),
    # what no walk sees, and what says nothing
    ("runtime/a.py", "import importlib\nimportlib.import_module('x')", "imported by name at run time"),
    ("runtime/a.py", "__import__('canary')", "imported by name at run time"),
    ("runtime/utils.py", "", "a file named utils has no one reason to exist"),
    ("canary/manager.py", "", "a file named manager has no one reason to exist"),
]


@pytest.mark.parametrize(("path", "source", "sentence"), BAD_IMPORTS)
def test_each_import_rule_bites(path, source, sentence):
    found = breaches(path, source)
    assert len(found) == 1
    assert found[0].startswith(f"{path}:")
    assert sentence in found[0]


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("fleet/a.py", "import json, re\nfrom fleet.errors import MalformedError\nfrom . import errors"),
        ("fleet/a.py", "from datetime import datetime, UTC\nx = datetime.fromtimestamp(0, tz=UTC)"),
        ("runtime/process/clock.py", "import time, asyncio, socket\nfrom fleet import errors"),
        ("runtime/kafka/admin.py", "import confluent_kafka"),
        (
            "canary/tracker/tracker.py",
            "from canary.tracker.counters import Flag\nfrom canary.tracker import ranges\nimport fleet.series.catalogue",
        ),
        ("canary/tap.py", "import time\nfrom runtime.kafka import taps\nimport canary.tracker.tracker"),
        ("canary/config.py", "from pydantic import BaseModel"),
        ("runtime/config/values.py", "import pydantic_core"),
        ("canary/persistence/tables.py", "import sqlalchemy as sa"),
        ("runtime/store/migrations.py", "import sqlalchemy as sa"),
        ("mirrorwatch/cli/main.py", "import click, rich, canary, lagmon, alerts, dashboards"),
        ("mirrorwatch/cli/main.py", "from importlib.metadata import version\nversion('mirrorwatch')"),
        ("mirrorwatch/service/metrics.py", "import prometheus_client"),
        ("dashboards/builder.py", "import grafanalib\nfrom alerts import objectives"),
    ],
)
def test_what_is_allowed_passes(path, source):
    assert breaches(path, source) == []


def test_every_module_that_is_listed_as_pure_is_there():
    # fleet needs no list: all of it is pure.
    listed = {f"{package}/{module}" for package, modules in PURE.items() for module in modules}
    files = {relative(path) for path in FILES}
    assert listed <= {one.removesuffix(".py") for one in files} | {one.rpartition("/")[0] for one in files}


BAD_STATE = [
    ("seen = []", "seen looks like state of the module"),
    ("cache: dict[str, int] = {}", "cache looks like state of the module"),
    ("client = Client()", "client looks like state of the module"),
    ("if x:\n    names = set()", "names looks like state of the module"),
    ("try:\n    a = 1\nexcept E:\n    names = [1]", "names looks like state of the module"),
    ("a, found = 1, [x for x in y]\n_hits = {x for x in y}", "_hits looks like state of the module"),
    ("SEEN = collections.defaultdict(list)", "SEEN is a defaultdict"),
    ("_NUMBERS = itertools.count()", "_NUMBERS is a count"),
    ("LOCK = threading.Lock()", "LOCK is a Lock"),
    ("REGISTRY = CollectorRegistry()", "REGISTRY is a CollectorRegistry"),
    ("x = 1\ndef f():\n    global x\n    x = 2", "global x makes state of the module"),
    ("NAMES = {}\ndef f():\n    NAMES['a'] = 1", "NAMES is a constant and changed here"),
    ("NAMES = {}\ndef f():\n    del NAMES['a']", "NAMES is a constant and changed here"),
    ("def f():\n    NAMES.append(1)", "NAMES is a constant and changed here"),
    ("def f():\n    series.CATALOGUE.update(x)", "series.CATALOGUE is a constant and changed here"),
    ("def f():\n    NAMES['a'] += 1", "NAMES is a constant and changed here"),
    ("def f():\n    TABLE.update({'a': 1})", "TABLE is a constant and changed here"),
    ("def f():\n    ROWS.insert(0, 'a')", "ROWS is a constant and changed here"),
    ("NAMES = []\nNAMES += [1]", "NAMES is a constant and changed here"),
]


@pytest.mark.parametrize(("source", "sentence"), BAD_STATE)
def test_state_of_a_module_is_seen(source, sentence):
    found = state_breaches("canary/a.py", source)
    assert len(found) == 1
    assert sentence in found[0]


@pytest.mark.parametrize(
    "source",
    [
        "NAMES = {'a': 1}\n_TABLE = [1, 2]\nprint(NAMES['a'], len(_TABLE))",
        "__all__ = ['a']\nversion = '1'",
        "KeyT = TypeVar('KeyT')\nEvent = A | B\nPATTERN = re.compile('x')",
        "def f():\n    seen = []\n    seen.append(1)\n    table = {}\n    table['a'] = 1",
        "metadata = sa.MetaData()\nROWS = sa.Table('rows', metadata)\ndef f(c):\n    c.execute(ROWS.insert())",
        "class A:\n    def f(self):\n        self.rows = []\n        self.rows.append(1)",
    ],
)
def test_what_is_no_state_passes(source):
    assert state_breaches("canary/a.py", source) == []
