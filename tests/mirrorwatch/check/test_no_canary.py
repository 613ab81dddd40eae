"""A flow without a canary: the first line of `check` says so, with what to do; --strict makes it a finding."""

from __future__ import annotations

import pytest

from tests.mirrorwatch.check.test_check import MM2, YAML, Cluster, commands_of, explain, flat

__all__ = ["explain"]

FILTERED = YAML.replace("orders.*, mirrorwatch-canary", r"orders\\..*")
EXCLUDED = MM2 + "B->A.enabled = false\nA->B.topics.exclude = mirrorwatch.*\n"
MANY = (
    'mirror_version: "4.3"\nclusters: {A: {bootstrap.servers: "a:9092"}, '
    + ", ".join(f'B{n}: {{bootstrap.servers: "b:9092"}}' for n in range(30))
    + "}\nflows: {"
    + ", ".join(f'A->B{n}: {{topics: "x"}}' for n in range(30))
    + "}\n"
)


async def test_one_flow_is_named_with_the_line_to_add_in_the_first_line(explain):
    for strict, status in ((False, 0), (True, 1)):
        code, text = await explain(FILTERED, {"A": Cluster("orders"), "B": Cluster()}, strict=strict)
        assert code == status
        first, *_, last = text.splitlines()
        assert first.startswith("A->B: no canary: mirrorwatch-canary on A is not mirrored A->B because ")
        assert first.endswith(
            "; if the mirror replicates it, set in Mirrorwatch's configuration:"
            r' flows.A->B.topics: "orders\\..*, mirrorwatch-canary"'
        )
        assert "OK" not in text
        assert "Fine" not in text
        assert ("FAILED: no canary on A->B." if strict else "No canary on A->B.") in flat(text)
        assert "OK" not in last


async def test_a_flow_that_excludes_it_has_no_line_to_add(explain):
    code, text = await explain(EXCLUDED, strict=True)
    assert code == 1
    assert text.splitlines()[0].endswith("; remove the entry that matches it from A->B.topics.exclude")


async def test_several_are_named_and_each_has_its_line(explain):
    two = FILTERED.replace("flows: {", "flows: {B->A: {topics: mirrorwatch-canary}, ")
    _, text = await explain(two)
    assert text.splitlines()[0].startswith("A->B: no canary: ")
    both = FILTERED.replace("flows: {", 'flows: {B->A: {topics: ""}, ')
    _, text = await explain(both)
    first, one, other = text.splitlines()[:3]
    assert first == "no canary on 2 of 2 flows: B->A, A->B"
    assert one.endswith(': flows.B->A.topics: "mirrorwatch-canary"')
    assert other.startswith("A->B: no canary: ")


async def test_many_are_bounded(explain):
    code, text = await explain(MANY, strict=True)
    lines = text.partition("\n\n")[0].splitlines()
    assert code == 1
    assert len(lines) == 22
    assert lines[0].startswith("no canary on 30 of 30 flows: A->B0, A->B1, ")
    assert lines[0].endswith(" and 10 more")
    assert lines[-1] == "and 10 more"


async def test_a_canary_that_is_switched_off_is_a_fact_and_no_finding(explain):
    for strict in (False, True):
        code, text = await explain(YAML + "canary: {mode: 'off'}\n", strict=strict)
        assert code == 0
        assert text.splitlines()[0] == "no canary, as configured: canary.mode is off in mirrorwatch.yml"
        assert "There is no canary, as configured (canary.mode: off)." in flat(text)
        assert "OK" not in text


async def test_with_a_canary_everywhere_nothing_is_shown(explain):
    code, text = await explain(YAML, strict=True)
    assert code == 0
    assert text.startswith("Read\n")
    assert "OK: the configuration is valid. No cluster was queried." in flat(text)


@pytest.mark.parametrize("strict", [False, True])
def test_with_the_commands_it_is_shown_on_standard_error(strict, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, commands, errors = commands_of(FILTERED, strict=strict)
    assert code == int(strict)
    assert ": flows.A->B: no canary: " in errors
    assert "no canary" not in commands
