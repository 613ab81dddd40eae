from __future__ import annotations

from runtime.kafka.properties import named_files


def test_a_file_is_read_up_to_its_bound(tmp_path):
    path = tmp_path / "ca.pem"
    path.write_bytes(b"x" * (16 * 1024 * 1024 + 1))
    assert named_files.read_file(str(path)) == b"x" * (16 * 1024 * 1024)


def test_file_rights(tmp_path):
    path = tmp_path / "key.pem"
    path.write_text("x", encoding="utf-8")
    path.chmod(0o644)
    assert named_files.readable_by_everybody(str(path))
    path.chmod(0o640)
    assert not named_files.readable_by_everybody(str(path))
    assert not named_files.readable_by_everybody(str(tmp_path / "missing"))
