"""What a reload changes, as a table: two configurations in, what there is to do out."""

from __future__ import annotations

from pathlib import Path

import pytest

from mirrorwatch.changes import Changes, at_the_next_start, in_effect, what_changes
from mirrorwatch.config_reading import read_configuration

BOTH = {"A->B": "{}", "B->A": "{}"}


def configuration(folder, *, flows=BOTH, clusters=(), **sections):
    found = dict.fromkeys({alias for name in flows for alias in name.split("->")}, "a:1") | dict(clusters)
    lines = [f"{name}: {text}" for name, text in sections.items()]
    lines += ["mirror_version: '4.3'", "clusters:"]
    lines += [f"  {alias}: {{bootstrap.servers: '{servers}'}}" for alias, servers in sorted(found.items())]
    lines += ["flows:", *(f"  {name}: {said}" for name, said in flows.items())]
    path = Path(folder) / "mirrorwatch.yaml"
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def changes(tmp_path, before, after):
    old = read_configuration(configuration(tmp_path, **before), environ={})
    new = read_configuration(configuration(tmp_path, **after), environ={}, running=old.canary)
    found = what_changes(old, in_effect(old, new))
    return found, [flow.name for flow in found.begun]


@pytest.mark.parametrize(
    ("before", "after", "expected", "begun"),
    [
        ({}, {}, Changes(), []),
        ({"flows": {"A->B": "{}"}}, {}, Changes(), ["B->A"]),
        ({}, {"flows": {"A->B": "{}"}}, Changes(ended=("B->A",)), []),
        (
            {},
            {"flows": {"A->C": "{}"}},
            Changes(ended=("A->B", "B->A"), opened=("C",), closed=("B",)),
            ["A->C"],
        ),
        (
            {},
            {"flows": {**BOTH, "A->B": "{canary: {threshold: 9s}}"}},
            Changes(ended=("A->B",)),
            ["A->B"],
        ),
        ({}, {"canary": "{threshold: 9s}"}, Changes(ended=("A->B", "B->A")), ["A->B", "B->A"]),
        (
            {},
            {"canary": "{interval: 2s}"},
            Changes(ended=("A->B", "B->A"), anew=True),
            ["A->B", "B->A"],
        ),
        ({}, {"canary": "{horizon: 90s}"}, Changes(ended=("A->B", "B->A"), anew=True), ["A->B", "B->A"]),
        ({}, {"canary": "{per_partition: true}"}, Changes(settings=("canary.per_partition",)), []),
        ({}, {"canary": "{max_partitions: 3}"}, Changes(settings=("canary.max_partitions",)), []),
        ({}, {"http": "{reload: true}"}, Changes(settings=("http.reload",)), []),
        ({}, {"http": "{tokens: {operator: x}}"}, Changes(settings=("http.tokens",)), []),
        ({}, {"clusters": {"B": "b:2"}}, Changes(renewed=("B",)), []),
        ({}, {"canary": "{topic: other, mode: 'off'}", "http": "{listen: '127.0.0.1:1'}"}, Changes(), []),
    ],
)
def test_what_there_is_to_do(tmp_path, before, after, expected, begun):
    found, names = changes(tmp_path, before, after)
    assert names == begun
    for key in ("ended", "opened", "closed", "renewed", "anew", "settings"):
        assert getattr(found, key) == getattr(expected, key), key


def test_each_change_is_a_sentence(tmp_path):
    after = {
        "flows": {"A->B": "{canary: {threshold: 9s}}", "A->C": "{}"},
        "clusters": {"A": "a:2"},
        "http": "{reload: true}",
    }
    before = {"flows": {"A->B": "{}", "A->D": "{}"}}
    found, _ = changes(tmp_path, before, after)
    assert found.sentences == (
        "A->D is dropped",
        "A->B begins anew with other settings",
        "A->C is added",
        "the cluster C is added",
        "the cluster D is left",
        "the clients of A are made anew",
        "http.reload has changed",
    )
    assert Changes().sentences == ("nothing has changed",)


def test_what_cannot_change_is_said_and_stays(tmp_path):
    old = read_configuration(configuration(tmp_path), environ={})
    sections = {
        "canary": "{topic: other, mode: precreated}",
        "http": "{listen: '127.0.0.1:1'}",
        "store": "{url: 'sqlite:///other.db'}",
    }
    path = configuration(tmp_path, **sections)
    asked = read_configuration(path, environ={})
    assert at_the_next_start(old, asked) == tuple(
        f"{key} takes effect at the next start"
        for key in ("canary.mode", "canary.topic", "http.listen", "store.url")
    )
    new = in_effect(old, read_configuration(path, environ={}, running=old.canary))
    assert at_the_next_start(old, new) == ()
    assert {flow.source_topic for flow in new.canary_flows} == {"mirrorwatch-canary"}
    assert what_changes(old, new) == Changes()
