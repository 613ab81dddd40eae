"""What a measured service writes is what the benchmark reads."""

from __future__ import annotations

from array import array

from bench.recording import quantile, rows, write_arrays


def test_arrays_come_back_as_rows(tmp_path):
    write_arrays(tmp_path, {"seen": array("q", [0, 7, 2**62, 1, 8, -5]), "sent": array("q")})
    assert rows(tmp_path / "seen", 3) == [(0, 7, 2**62), (1, 8, -5)]
    assert rows(tmp_path / "sent", 2) == []


def test_a_quantile_is_one_of_the_values():
    values = [float(number) for number in range(200)]
    assert [quantile(values, share) for share in (0.0, 0.01, 0.5, 0.99, 1.0)] == [0, 2, 100, 198, 199]
    assert quantile([3.0], 0.999) == 3.0
