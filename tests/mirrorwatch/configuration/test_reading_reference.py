"""The reference of keys is generated from the sections, and each key declares what the reference needs."""

from __future__ import annotations

from pathlib import Path

import pytest

from mirrorwatch.configuration.reference import configuration_keys_page, every_key
from mirrorwatch.configuration.sections import BURROW_NAME
from runtime.config.values import Reload
from runtime.kafka.properties.msk import OWN_KEYS

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "configuration-keys.md"
KEYS = {key.path: key for key in every_key()}


def test_the_page_is_that_of_today():
    command = "python -m mirrorwatch.configuration.reference > docs/reference/configuration-keys.md"
    assert PAGE.read_text(encoding="utf-8") == configuration_keys_page(), command


def test_keys_of_a_cluster_that_are_ours_are_in_it():
    ours = {path for path in KEYS if path.startswith("clusters.A.")}
    assert ours == {f"clusters.A.{name}" for name in (BURROW_NAME, *OWN_KEYS)}


@pytest.mark.parametrize("key", KEYS.values(), ids=lambda key: key.path)
def test_each_key_says_what_it_means(key):
    assert key.meaning
    assert "|" not in key.meaning + key.default + key.values
    assert not key.meaning.endswith(".")


@pytest.mark.parametrize(
    ("path", "default", "values", "reload"),
    [
        ("canary.interval", "`1s`", "duration, 0.01 s to 1 h", Reload.ALL_FLOWS),
        ("canary.horizon", "`1m`", "duration, more than 0 s, at most 1 d", Reload.ALL_FLOWS),
        ("canary.mode", "`create`", "`create`, `precreated`, `off`", Reload.NEXT_START),
        ("canary.grow", "`false`", "`true` or `false`", Reload.AT_ONCE),
        ("flows.A->B.canary.threshold", "`canary.threshold`", "duration, more than 0 s", Reload.ITS_FLOWS),
        (
            "flows.A->B.policy",
            "the mm2 file's, else `default`",
            "`default`, `identity`, `legacy`",
            Reload.ITS_FLOWS,
        ),
        ("flows.A->B.offsets.topic", "required", "", Reload.ITS_FLOWS),
        ("connect.connectors", "all of MirrorMaker's", "list", Reload.ITS_FLOWS),
        ("checksum.max_rate", "none", "rate", Reload.NEXT_RUN),
        ("lag.max_series", "`100000`", "whole number, 0 to 5000000", Reload.LAG),
        (
            "objectives[].target",
            "`99.9` for availability, else `99`",
            "number, at least 0, less than 100",
            Reload.AT_ONCE,
        ),
        ("store.url", "`sqlite:///mirrorwatch.db`", "", Reload.NEXT_START),
    ],
)
def test_a_row_is_what_the_section_declares(path, default, values, reload):
    key = KEYS[path]
    assert (key.default, key.values, key.reload) == (default, values, reload)
