"""Memory is given back where the C library can be told to, and nothing happens where it cannot."""

from __future__ import annotations

import ctypes
from types import SimpleNamespace

import pytest

from runtime.memory import give_back


@pytest.mark.parametrize("can", [True, False])
def test_the_c_library_is_told_where_it_can_be(monkeypatch, can):
    told = []
    library = SimpleNamespace(**({"malloc_trim": told.append} if can else {}))
    monkeypatch.setattr(ctypes, "CDLL", lambda _name: library)
    give_back()
    assert told == ([0] if can else [])
