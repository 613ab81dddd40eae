"""Files of other programs that are a configuration as they are: golden/forms.txt.

A case is `== what`, its files after `-- name`, and after `-- says` what the first of them comes to.
"""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from fleet.errors import ConfigurationError
from mirrorwatch.check.configured import offsets_of
from mirrorwatch.configuration.flow_canaries import fix_of
from mirrorwatch.configuration.forms import ACCEPTED, Form, form_of
from mirrorwatch.configuration.reading import read_configuration
from runtime.kafka.properties.redaction import redacted

GOLDEN = Path(__file__).parents[1] / "golden" / "forms.txt"


def cases(text):
    found = {}
    for block in text.split("\n== ")[1:]:
        title, _, rest = block.partition("\n")
        files = {}
        for part in ("\n" + rest).split("\n-- ")[1:]:
            name, _, content = part.partition("\n")
            files[name] = content.rstrip("\n") + "\n"
        found[title] = files
    return found


CASES = cases(GOLDEN.read_text(encoding="utf-8"))


def said_of(files):
    """Return the flows, the clusters and the warnings of the first file, or its problems."""
    names = [name for name in files if name != "says"]
    for name in names:
        Path(name).write_text(files[name], encoding="utf-8")
    try:
        config = read_configuration(Path(names[0]), environ={"PASSWORD": "hunter2secret"})
    except ConfigurationError as refusal:
        return [str(problem).replace(ACCEPTED, "(all forms)") for problem in refusal.problems]
    lines = []
    for flow in config.topology.flows:
        topics = f"topics {flow.topic_filter.include}"
        topics += f" without {flow.topic_filter.exclude}" if flow.topic_filter.exclude else ""
        lines.append(
            f"flow {flow.name}: orders becomes {flow.remote_topic('orders')}; {topics}; "
            f"groups {flow.group_filter.include}; {flow.tasks_max} tasks; connector {flow.connector or 'unknown'}; "
            f"version {flow.mirror_version or 'unknown'}; offsets {offsets_of(flow, config.lag_sources[flow.name])}"
        )
    for alias, client in config.clients.items():
        shown = redacted(client.librdkafka)
        shown.pop("enable.metrics.push")
        lines.append(f"cluster {alias}: " + ", ".join(f"{key}={value}" for key, value in shown.items()))
    lines += [f"warning {warning}" for warning in config.warnings if "no canary: " not in warning.sentence]
    assert "hunter2" not in "".join(lines)
    return lines


@pytest.mark.parametrize("title", CASES)
def test_each_comes_to_what_it_says(title, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert said_of(CASES[title]) == CASES[title]["says"].strip().splitlines()


@pytest.mark.parametrize("title", CASES)
def test_each_line_that_is_named_holds_the_key(title):
    """What names a line names the one with the last part of the key, or with the key above."""
    for sentence in CASES[title]["says"].splitlines():
        file, _, rest = sentence.removeprefix("warning ").partition(":")
        line, _, rest = rest.partition(": ")
        if not line.isdecimal():
            continue
        if rest.startswith("invalid YAML"):
            continue
        text = CASES[title][file].splitlines()[int(line) - 1]
        key = next(part for part in rest.split(": ") if not part.startswith("Kafka"))  # behind its resource
        assert any(part and part in text for part in (key, *key.split("."))), (key, text)


@pytest.mark.parametrize(
    ("name", "content", "form"),
    [
        ("mm2.properties", "clusters = A, B\n", Form.PROPERTIES),
        ("mm2.properties", "anything", Form.PROPERTIES),
        ("mirror.properties", "apiVersion: v1\nkind: List\nitems: []\n", Form.RESOURCES),
        (
            "mirror.properties",
            '{"name": "m", "config": {"connector.class": "MirrorSource"}}',
            Form.CONNECTORS,
        ),
        ("mirror", "clusters = A, B\nA.bootstrap.servers=a:1\n", Form.PROPERTIES),
        ("mirror.yaml", "mm2: mm2.properties\n", Form.OURS),
        ("mirror.json", '{"mm2": "mm2.properties"}', Form.OURS),
        ("mirror.yaml", "{mm2: mm2.properties}", Form.OURS),
        ("mirror.txt", "# Source: a.yaml\n\nkind: KafkaMirrorMaker2\napiVersion: x/v1\n", Form.RESOURCES),
        ("mirror.txt", '\ufeff{"kind" : "List", "apiVersion": "v1"}', Form.RESOURCES),
        ("mirror", "{apiVersion: v1, kind: List}", Form.RESOURCES),
        ("mirror.yaml", "\ufeffapiVersion: v1\r\nkind: List\r\n---\r\n", Form.RESOURCES),
        ("mirror", '"apiVersion": v1\n"kind": List\n', Form.RESOURCES),
        ("mirror.yaml", '[{"name": "m", "config": {"connector.class": "MirrorSource"}}]', Form.CONNECTORS),
        ("connector.conf", "name=m\nconnector.class = MirrorSource\n", Form.CONNECTOR_PROPERTIES),
        ("mm2.properties", "clusters = A, B\nconnector.class = x\n", Form.PROPERTIES),
        ("mirror.yaml", "", Form.OURS),
        ("mirror.yaml", "{}", Form.OURS),
    ],
)
def test_what_a_file_holds_decides_its_form_and_its_name_only_where_that_is_open(name, content, form):
    assert form_of(Path(name), content.encode()) is form


@pytest.mark.parametrize(
    ("title", "fix"),
    [
        ("v1, several sources", 'set spec.mirrors.0.topicsPattern in the mirror\'s configuration: "topicsPattern": "orders.*, mirrorwatch-canary"'),
        ("a connector as it is posted", 'set mm2-source.topics in the mirror\'s configuration: "topics": "orders.*, mirrorwatch-canary"'),
        ("connectors of a KafkaConnect, which keeps its topics on the source", 'set KafkaConnector shop/mirror-source: spec.config.topics in the mirror\'s configuration: "topics": "orders.*, mirrorwatch-canary"'),
    ],
)  # fmt: skip
def test_the_line_that_gives_a_flow_its_canary_is_one_of_the_mirrors_own_file(
    title, fix, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    said_of(CASES[title])
    path = next(iter(CASES[title]))
    flow = read_configuration(Path(path), environ={}).topology.flows[0]
    assert fix_of(flow, "mirrorwatch-canary") == fix


def resource(number):
    source, target = f"s{number}", f"t{number}"
    return {
        "apiVersion": "kafka.strimzi.io/v1beta2",
        "kind": "KafkaMirrorMaker2",
        "metadata": {
            "name": f"m{number}",
            "managedFields": [{"fieldsV1": {f"f:{field}": {".": {}, "f:x": {}} for field in range(200)}}],
        },
        "spec": {
            "connectCluster": target,
            "clusters": [{"alias": alias, "bootstrapServers": f"{alias}:9092"} for alias in (source, target)],
            "mirrors": [
                {"sourceCluster": source, "targetCluster": target, "sourceConnector": {"tasksMax": 3}}
            ],
        },
    }


@pytest.mark.parametrize("form", ["list", "documents"])
def test_hundreds_of_resources_are_read_in_seconds(tmp_path, form):
    """As long as kubectl makes them. JSON in flow style is YAML too, and takes its way."""
    resources = [resource(number) for number in range(200)]
    if form == "list":
        items = "".join(f"- {json.dumps(each)}\n" for each in resources)
        text = f"apiVersion: v1\nkind: List\nitems:\n{items}"
    else:
        others = "---\nkind: ConfigMap\napiVersion: v1\ndata:\n  x: &anchor |\n    y\n" * 200
        text = others + "".join(f"---\n# Source: m\n{json.dumps(each)}\n" for each in resources)
    path = tmp_path / "mirrors.yaml"
    path.write_text(text, encoding="utf-8")
    began = time.process_time()
    config = read_configuration(path, environ={})
    took_s = time.process_time() - began
    assert len(config.topology.flows) == 200
    assert took_s < 10  # 1.5 s on a busy machine; a guard against what grows with the square
