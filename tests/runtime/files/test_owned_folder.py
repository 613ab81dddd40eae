"""A folder that render owns: its files follow, and nothing of anybody else is touched."""

from __future__ import annotations

import json

import pytest

from fleet.errors import ConfigurationError
from runtime.files.owned_folder import manifest_name, write_owned

FILES = {"prometheus/rules.yml": "groups: []\n", "alertmanager.yml": "route: {}\n"}

MANIFEST = manifest_name("render")


def refused(folder, files=FILES, **how):
    with pytest.raises(ConfigurationError) as caught:
        write_owned(folder, files, **how)
    return [str(problem) for problem in caught.value.problems]


def test_a_new_folder_gets_every_file_and_the_same_again_changes_nothing(tmp_path):
    folder = tmp_path / "a" / "b"
    assert write_owned(folder, FILES) == ["alertmanager.yml", "prometheus/rules.yml"]
    assert {path: (folder / path).read_text() for path in FILES} == FILES
    before = (folder / MANIFEST).read_bytes()
    assert write_owned(folder, FILES) == []
    assert (folder / MANIFEST).read_bytes() == before


def test_files_follow_and_those_that_are_not_rendered_any_more_go(tmp_path):
    write_owned(tmp_path, FILES)
    assert write_owned(tmp_path, {"alertmanager.yml": "new\n"}) == [
        "prometheus/rules.yml",
        "alertmanager.yml",
    ]
    assert (tmp_path / "alertmanager.yml").read_text() == "new\n"
    assert not (tmp_path / "prometheus/rules.yml").exists()


def test_a_folder_of_somebody_else_is_left_alone(tmp_path):
    (tmp_path / "mine.txt").write_text("x")
    assert refused(tmp_path) == [
        f"{tmp_path}: is not empty, and render did not write what is in it; choose an empty folder"
    ]
    assert [one.name for one in tmp_path.iterdir()] == ["mine.txt"]


def test_every_file_in_the_way_is_named_and_nothing_is_written(tmp_path):
    write_owned(tmp_path, FILES)
    (tmp_path / "alertmanager.yml").write_text("edited")
    (tmp_path / "grafana.json").write_text("mine")
    sentences = refused(tmp_path, {**FILES, "grafana.json": "{}", "prometheus/rules.yml": "new"})
    assert sentences == [
        f"{tmp_path}/alertmanager.yml: was changed since render wrote it; move your changes elsewhere and remove it",
        f"{tmp_path}/grafana.json: exists, and render did not write it; move it away, or choose another folder",
    ]
    assert (tmp_path / "prometheus/rules.yml").read_text() == FILES["prometheus/rules.yml"]


@pytest.mark.parametrize("text", ["", "[]", '{"files": 3}', "{"])
def test_a_broken_manifest_is_no_licence(tmp_path, text):
    (tmp_path / MANIFEST).write_text(text)
    assert "is not a manifest that render wrote" in refused(tmp_path)[0]


def test_a_file_is_no_folder(tmp_path):
    place = tmp_path / "x"
    place.write_text("")
    assert refused(place) == [f"{place}: is not a folder; name a folder to write into"]


def test_after_a_kill_in_the_middle_the_next_run_continues(tmp_path, monkeypatch):
    write_owned(tmp_path, FILES)
    new = {"alertmanager.yml": "new\n", "prometheus/rules.yml": "newer\n"}
    with monkeypatch.context() as patched:
        import runtime.files.owned_folder as module  # noqa: PLC0415 - the one to be broken

        put = module._put

        def dies(place, text):
            if place.name == "rules.yml":
                raise KeyboardInterrupt
            put(place, text)

        patched.setattr(module, "_put", dies)
        with pytest.raises(KeyboardInterrupt):
            write_owned(tmp_path, new)
    assert (tmp_path / "alertmanager.yml").read_text() == "new\n"
    assert write_owned(tmp_path, new) == ["prometheus/rules.yml"]
    assert all(len(sums) == 1 for sums in json.loads((tmp_path / MANIFEST).read_text())["files"].values())


def test_files_of_before_are_kept_where_asked_and_each_command_has_a_folder_of_its_own(tmp_path):
    write_owned(tmp_path, {"one.md": "1"}, by="report", keep=True)
    assert write_owned(tmp_path, {"two.md": "2"}, by="report", keep=True) == ["two.md"]
    assert write_owned(tmp_path, {"one.md": "3"}, by="report", keep=True) == ["one.md"]
    (tmp_path / "two.md").write_text("mine")
    write_owned(tmp_path, {"one.md": "4"}, by="report", keep=True)
    (changed,) = refused(tmp_path, {"two.md": "5"}, by="report", keep=True)
    assert changed.startswith(f"{tmp_path / 'two.md'}: was changed since report wrote it")
    assert "is not empty, and render did not write" in refused(tmp_path, {"three.md": "6"})[0]
