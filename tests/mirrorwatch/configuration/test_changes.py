"""What a reload changes, as a table: two configurations in, what there is to do out."""

from __future__ import annotations

from pathlib import Path

import pytest

from mirrorwatch.configuration.changes import Changes, at_the_next_start, in_effect, what_changes
from mirrorwatch.configuration.reading import read_configuration
from tests.runtime.certificates import write_pair

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
    return found, [flow.name for flow in found.started]


@pytest.mark.parametrize(
    ("before", "after", "expected", "begun"),
    [
        ({}, {}, Changes(), []),
        ({"flows": {"A->B": "{}"}}, {}, Changes(), ["B->A"]),
        ({}, {"flows": {"A->B": "{}"}}, Changes(stopped=("B->A",)), []),
        (
            {},
            {"flows": {"A->C": "{}"}},
            Changes(stopped=("A->B", "B->A"), opened=("C",), closed=("B",)),
            ["A->C"],
        ),
        (
            {},
            {"flows": {**BOTH, "A->B": "{canary: {threshold: 9s}}"}},
            Changes(stopped=("A->B",)),
            ["A->B"],
        ),
        ({}, {"canary": "{threshold: 9s}"}, Changes(stopped=("A->B", "B->A")), ["A->B", "B->A"]),
        (
            {},
            {"canary": "{interval: 2s}"},
            Changes(stopped=("A->B", "B->A"), all_restarted=True),
            ["A->B", "B->A"],
        ),
        (
            {},
            {"canary": "{horizon: 90s}"},
            Changes(stopped=("A->B", "B->A"), all_restarted=True),
            ["A->B", "B->A"],
        ),
        ({}, {"canary": "{per_partition: true}"}, Changes(settings=("canary.per_partition",)), []),
        ({}, {"canary": "{max_partitions: 3}"}, Changes(settings=("canary.max_partitions",)), []),
        ({}, {"canary": "{max_rate: 3}"}, Changes(settings=("canary.max_rate",)), []),
        ({}, {"http": "{reload: true}"}, Changes(settings=("http.reload",)), []),
        ({}, {"links": "{grafana: 'https://g'}"}, Changes(settings=("links.grafana",)), []),
        ({}, {"checksum": "{cells: 64}"}, Changes(settings=("checksum.cells",)), []),
        (
            {},
            {"objectives": "[{flow: A->B, kind: freshness, target: 98}]"},
            Changes(settings=("objectives",)),
            [],
        ),
        ({}, {"http": "{tokens: {operator: x}}"}, Changes(settings=("http.tokens",)), []),
        ({}, {"clusters": {"B": "b:2"}}, Changes(reconnected=("B",)), []),
        ({}, {"canary": "{topic: other, mode: 'off'}", "http": "{listen: '127.0.0.1:1'}"}, Changes(), []),
        (
            {"lag": "{commits: 'off'}"},
            {"lag": "{commits: topic, groups: 'shop-.*'}"},
            Changes(settings=("lag.commits", "lag.groups")),
            [],
        ),
        (
            {"lag": "{commits: topic}"},
            {"lag": "{commits: topic, topics: 'shop-.*', topics_exclude: shop-old}"},
            Changes(settings=("lag.topics", "lag.topics_exclude")),
            [],
        ),
        (
            {"lag": "{commits: topic}"},
            {"lag": "{commits: topic}", "flows": {**BOTH, "A->B": "{lag_from: offset-syncs}"}},
            Changes(lag_changed=("A->B",)),
            [],
        ),
        (
            {"lag": "{commits: 'off'}"},
            {"lag": "{commits: 'off'}", "flows": {**BOTH, "A->B": "{lag_from: offset-syncs}"}},
            Changes(),
            [],
        ),
        (
            {"lag": "{commits: topic}"},
            {
                "lag": "{commits: topic}",
                "flows": {**BOTH, "A->B": "{lag_from: offset-syncs, canary: {threshold: 9s}}"},
            },
            Changes(stopped=("A->B",)),  # its sentence says enough
            ["A->B"],
        ),
    ],
)
def test_what_there_is_to_do(tmp_path, before, after, expected, begun):
    found, names = changes(tmp_path, before, after)
    assert names == begun
    for key in ("stopped", "opened", "closed", "reconnected", "all_restarted", "lag_changed", "settings"):
        assert getattr(found, key) == getattr(expected, key), key


def test_each_change_is_a_sentence(tmp_path):
    after = {
        "flows": {"A->B": "{canary: {threshold: 9s}}", "A->C": "{}", "C->A": "{lag_from: offset-syncs}"},
        "clusters": {"A": "a:2"},
        "http": "{reload: true}",
        "lag": "{commits: admin}",
    }
    before = {"flows": {"A->B": "{}", "A->D": "{}", "C->A": "{}"}, "lag": "{commits: topic}"}
    found, _ = changes(tmp_path, before, after)
    assert found.sentences == (
        "A->D: removed",
        "A->B: restarted with new settings",
        "A->C: added",
        "C->A: the lag monitor restarted with new settings",
        "cluster D: removed",
        "cluster A: clients re-created",
        "http.reload: changed",
        "lag.commits: changed",
        "lag monitor: restarted",
    )
    assert Changes().sentences == ("no changes",)


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ({}, {"flows": {**BOTH, "A->B": "{topics: 'o.*'}"}}, True),
        ({}, {"flows": {"A->B": "{}"}}, True),
        ({}, {"lag": "{groups: 'shop-.*'}"}, True),
        ({}, {"clusters": {"B": "b:2"}}, True),
        ({}, {"canary": "{interval: 2s}", "http": "{tokens: {operator: t0ken}}"}, False),
        ({}, {"lag": "{commits: 'off'}"}, False),
        ({"lag": "{commits: 'off'}"}, {}, False),
        ({"lag": "{commits: 'off'}"}, {"lag": "{commits: 'off'}", "clusters": {"B": "b:2"}}, False),
    ],
)
def test_that_the_lag_monitor_begins_anew_is_said_where_it_does(tmp_path, before, after, told):
    found, _ = changes(tmp_path, before, after)
    assert found.lag_restarted is told
    assert (found.sentences[-1] == "lag monitor: restarted") is told


def test_what_cannot_change_is_said_and_stays(tmp_path):
    old = read_configuration(configuration(tmp_path), environ={})
    sections = {
        "canary": "{topic: other, mode: precreated}",
        "http": "{listen: '127.0.0.1:1'}",
        "store": "{url: 'sqlite:///other.db', replica: other, keep: {minutes: 30d}}",
    }
    path = configuration(tmp_path, **sections)
    asked = read_configuration(path, environ={})
    assert at_the_next_start(old, asked) == tuple(
        f"{key}: takes effect at the next start"
        for key in (
            *("canary.mode", "canary.topic", "http.listen"),
            *("store.keep", "store.replica", "store.url"),
        )
    )
    new = in_effect(old, read_configuration(path, environ={}, running=old.canary))
    assert at_the_next_start(old, new) == ()
    # What was not taken over is told again by the next reload, and by that which takes it back not at all.
    assert at_the_next_start(new, asked) == at_the_next_start(old, asked)
    assert at_the_next_start(new, old) == ()
    assert {flow.source_topic for flow in new.canary_flows} == {"mirrorwatch-canary"}
    assert what_changes(old, new) == Changes()


TLS, CLIENTS = (
    "{cert_file: s.crt, key_file: s.key}",
    "{cert_file: s.crt, key_file: s.key, min_version: TLS13}",
)
ONE, TWO = (f'{{{name}: "$2b$04${"e" * 53}"}}' for name in ("one", "two"))


@pytest.mark.parametrize(
    ("before", "after", "users", "told"),
    [
        ((None, ONE), (None, ONE), ONE, ((), ())),
        ((None, ONE), (None, TWO), TWO, (("basic_auth_users",), ())),
        ((TLS, ONE), (TLS, None), None, (("basic_auth_users",), ())),
        ((TLS, None), (TLS, ONE), ONE, (("basic_auth_users",), ())),
        ((None, ONE), (TLS, ONE), ONE, ((), ("tls_server_config",))),
        ((TLS, ONE), (CLIENTS, ONE), ONE, (("tls_server_config",), ())),
        ((TLS, ONE), (CLIENTS, TWO), TWO, (("tls_server_config", "basic_auth_users"), ())),
        # TLS alone would guard, and that is not there yet.
        ((None, ONE), (TLS, None), ONE, ((), ("tls_server_config", "basic_auth_users"))),
        ((TLS, ONE), (CLIENTS, None), None, (("tls_server_config", "basic_auth_users"), ())),
        ((TLS, ONE), (None, ONE), ONE, ((), ("tls_server_config",))),
    ],
)
def test_users_and_tls_settings_are_taken_over_and_the_switch_of_tls_is_not(
    tmp_path, before, after, users, told
):
    settings, later = told
    write_pair(tmp_path, "s")
    path = configuration(tmp_path, http="{web_config_file: web.yml}")

    def read(found):
        keys = zip(("tls_server_config", "basic_auth_users"), found, strict=True)
        text = "\n".join(f"{key}: {said}" for key, said in keys if said is not None)
        (tmp_path / "web.yml").write_text(text, encoding="utf-8")
        return read_configuration(path, environ={})

    old, asked = read(before), read(after)
    new = in_effect(old, asked)
    assert new.web_config.users == (read((TLS, users)).web_config.users)
    used = asked if before[0] and after[0] else old  # TLS is neither switched on nor off
    assert new.web_config.tls is used.web_config.tls
    assert what_changes(old, new).settings == settings
    assert at_the_next_start(old, asked) == tuple(f"{key}: takes effect at the next start" for key in later)
    assert at_the_next_start(old, new) == ()
    assert what_changes(new, in_effect(new, asked)) == Changes()


def test_of_another_web_configuration_nothing_is_taken_over(tmp_path):
    for name, users in (("one", ONE), ("two", TWO)):
        (tmp_path / f"{name}.yml").write_text(f"basic_auth_users: {users}", encoding="utf-8")
    old = read_configuration(configuration(tmp_path, http="{web_config_file: one.yml}"), environ={})
    asked = read_configuration(configuration(tmp_path, http="{web_config_file: two.yml}"), environ={})
    assert in_effect(old, asked).web_config == old.web_config
    assert at_the_next_start(old, asked) == ("http.web_config_file: takes effect at the next start",)
