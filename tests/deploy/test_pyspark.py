"""PySpark's place in the cache follows from what is pinned, and is linked into a virtual environment."""

from __future__ import annotations

import site
import sys

import pytest

from deploy.local.jars import StackError
from deploy.local.pyspark import link, pins, version

HASH = "--hash=sha256:" + "0" * 64
LOCK = f"aiohttp==3 \\\n    {HASH}\n    # via x\npy4j==0.10.9.9 \\\n    {HASH} \\\n    {HASH}\n    # via pyspark\npyspark==4.0.0 \\\n    {HASH}\n"


def test_the_lock_s_lines_are_taken_with_their_hashes():
    found = pins(LOCK)
    assert found == {
        "pyspark": f"pyspark==4.0.0 \\\n    {HASH}",
        "py4j": f"py4j==0.10.9.9 \\\n    {HASH} \\\n    {HASH}",
    }
    assert version(found["pyspark"]) == "4.0.0"


@pytest.mark.parametrize(
    "lock", ["", LOCK.replace("py4j", "py5j"), LOCK.replace("pyspark==4.0.0 \\", "pyspark==4.0.0")]
)
def test_a_lock_without_a_pin_is_reported(lock):
    with pytest.raises(StackError, match="does not pin py"):
        pins(lock)


def test_the_link_is_read_when_python_starts(tmp_path, monkeypatch):
    made = tmp_path / "cache" / "pyspark-4"
    made.mkdir(parents=True)
    monkeypatch.setattr(sys, "path", list(sys.path))
    link(made, tmp_path)
    site.addsitedir(str(tmp_path))
    assert str(made) in sys.path
