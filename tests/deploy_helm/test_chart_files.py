"""What can be said of the chart without Helm: versions, values and texts agree with each other."""

from __future__ import annotations

import json
import re
import tomllib

import jsonschema_rs
import pytest
import yaml

from mirrorwatch.configuration.reading import read_configuration
from tests.deploy_helm.chart import CHART, EXAMPLES
from tests.house.product_files import ROOT
from tests.house.test_words import findings

VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
CHART_FILE = yaml.safe_load((CHART / "Chart.yaml").read_text())
VALUES = yaml.safe_load((CHART / "values.yaml").read_text())
SCHEMA = json.loads((CHART / "values.schema.json").read_text())
README = (CHART / "README.md").read_text()
EXAMPLE_FILES = sorted(EXAMPLES.glob("*.yaml"))


def merged(values, changes):
    """Return values with changes, as Helm merges them."""
    result = dict(values)
    for key, value in changes.items():
        both = isinstance(value, dict) and isinstance(result.get(key), dict)
        result[key] = merged(result[key], value) if both else value
    return result


def problems(values):
    return [
        f"{'/'.join(map(str, error.instance_path))}: {error.message}"
        for error in jsonschema_rs.validator_for(SCHEMA).iter_errors(values)
    ]


def test_the_chart_installs_the_version_of_the_product():
    assert CHART_FILE["appVersion"] == CHART_FILE["version"] == VERSION


@pytest.mark.parametrize(
    ("image", "containerfile", "manifest"),
    [
        (VALUES["image"], "Containerfile", "deployment.yaml"),
        (VALUES["checksum"]["image"], "Containerfile.checksum", "checksum/cronjob.yaml"),
    ],
)
def test_the_images_are_those_that_are_built_here_and_that_the_manifests_name(image, containerfile, manifest):
    name = f"{image['repository']}:{image['tag'] or CHART_FILE['appVersion']}"
    assert f"-t {name} ." in (ROOT / "deploy" / "container" / containerfile).read_text()
    assert f"image: {name}\n" in (ROOT / "deploy" / "kubernetes" / manifest).read_text()


def test_the_schema_is_valid_and_the_values_fit_it():
    jsonschema_rs.meta.validate(SCHEMA)
    assert problems(VALUES) == []


@pytest.mark.parametrize("path", EXAMPLE_FILES, ids=lambda path: path.name)
def test_the_examples_fit_the_schema(path):
    assert problems(merged(VALUES, yaml.safe_load(path.read_text()))) == []


def test_the_schema_has_each_value_and_no_other():
    assert paths_of_schema(SCHEMA) == paths_of_values(VALUES, SCHEMA) | {"global"}


def paths_of_schema(schema, above=""):
    found = set()
    for key, inner in schema["properties"].items():
        nested = "properties" in inner
        found |= paths_of_schema(inner, f"{above}{key}.") if nested else {f"{above}{key}"}
    return found


def paths_of_values(values, schema, above=""):
    found = set()
    for key, value in values.items():
        inner = schema["properties"].get(key, {})
        nested = "properties" in inner
        found |= paths_of_values(value, inner, f"{above}{key}.") if nested else {f"{above}{key}"}
    return found


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"replicas": 0}, "replicas: 0 is less than the minimum of 1"),
        ({"replica": 2}, ": Additional properties are not allowed ('replica' was unexpected)"),
        ({"http": {"probe": "exec"}}, 'http/probe: "exec" is not one of "http" or "tcp"'),
        ({"env": {"N": 1}}, 'env/N: 1 is not of type "string"'),
        ({"http": {"scheme": "https"}}, 'http/scheme: "https" is not one of "HTTP" or "HTTPS"'),
        ({"report": {"enabled": "yes"}}, 'report/enabled: "yes" is not of type "boolean"'),
    ],
)
def test_the_schema_refuses_wrong_values(changes, problem):
    assert problems(merged(VALUES, changes)) == [problem]


@pytest.mark.parametrize("path", [None, *EXAMPLE_FILES], ids=lambda path: path and path.name)
def test_the_configuration_is_one_that_the_service_takes(path, tmp_path):
    values = merged(VALUES, yaml.safe_load(path.read_text()) if path else {})
    for name, text in {"mirrorwatch.yaml": values["configuration"], **values["files"]}.items():
        # The certificates are in the pod.
        (tmp_path / name).write_text(text.replace("web_config_file: web.yml", "insecure: true"))
    secrets = dict.fromkeys(values["secretEnv"], "postgresql://u:p@h/d")
    chart_s = {
        "MIRRORWATCH_REPLICA": "mw-mirrorwatch-0",
        "MIRRORWATCH_REPLICA_URL": "http://mw-mirrorwatch-0.mw-mirrorwatch-replicas:9699",
    }
    read = read_configuration(tmp_path / "mirrorwatch.yaml", environ={**secrets, **chart_s})
    assert read.warnings == ()
    assert [flow.name for flow in read.canary_flows] == ["A->B"]
    assert read.store.replica == chart_s["MIRRORWATCH_REPLICA"]
    assert str(read.http.address) == "0.0.0.0:9699"


def test_every_secret_that_an_example_names_has_a_key():
    for path in EXAMPLE_FILES:
        values = merged(VALUES, yaml.safe_load(path.read_text()))
        text = values["configuration"] + "".join(values["files"].values())
        named = {one for one in re.findall(r"\$\{env:(\w+)\}", text) if not one.startswith("MIRRORWATCH_")}
        assert named == set(values["secretEnv"])


def test_the_readme_is_in_plain_words():
    assert findings(README) == []


def test_the_readme_names_values_that_exist():
    named = set(re.findall(r"^\| `([\w.]+)`", README.partition("\n## Values\n")[2], re.MULTILINE))
    known = paths_of_schema(SCHEMA)
    groups = {path.rpartition(".")[0] for path in known}
    assert len(named) > 10
    assert named - known - groups == set()
    assert {path.split(".")[0] for path in known} - {path.split(".")[0] for path in named} == {"global"}


def test_comments_and_messages_are_in_plain_words():
    for path in [CHART / "values.yaml", *EXAMPLE_FILES, *sorted((CHART / "templates").iterdir())]:
        text = path.read_text()
        comments = [
            "\n".join(line.strip(" #") for line in block.splitlines() if not line.startswith("#   "))
            for block in re.findall(r"(?:^ *# .*\n)+", text, re.MULTILINE)
        ]
        messages = re.findall(r'fail \(?(?:printf )?"((?:[^"\\]|\\.)*)"', text)
        for one in [*comments, *messages]:
            assert findings(one) == [], path.name
