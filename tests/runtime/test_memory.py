"""Memory is given back where the C library can be told to, and nothing happens where it cannot."""

from __future__ import annotations

import ctypes
import gc
from types import SimpleNamespace

import pytest

from runtime.memory import COLLECT_AFTER, collect_rarely, give_back


@pytest.mark.parametrize("can", [True, False])
def test_the_c_library_is_told_where_it_can_be(monkeypatch, can):
    told = []
    library = SimpleNamespace(**({"malloc_trim": told.append} if can else {}))
    monkeypatch.setattr(ctypes, "CDLL", lambda _name: library)
    give_back()
    assert told == ([0] if can else [])


def test_thousands_of_objects_that_come_and_go_are_no_reason_to_look_for_garbage():
    looks = []

    def heard(phase, _about):
        looks.append(phase)

    before, thawed = gc.get_threshold(), gc.get_freeze_count()
    gc.callbacks.append(heard)
    try:
        collect_rarely()
        assert gc.get_freeze_count() > thawed
        looks.clear()
        for _ in range(20):
            held = [[] for _ in range(10_000)]
            del held
        assert looks == []
        held = [[] for _ in range(2 * COLLECT_AFTER)]
        assert "start" in looks
        assert held
    finally:
        gc.callbacks.remove(heard)
        gc.set_threshold(*before)
        gc.unfreeze()
