"""Bad configurations with the exact sentences that they give: golden/bad-configurations.txt.

A case is `== what`, its files after `-- name`, and after `-- says` every line that is told.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from fleet.errors import ConfigurationError
from mirrorwatch.configuration.reading import read_configuration

GOLDEN = Path(__file__).parents[1] / "golden" / "bad-configurations.txt"
SECRET = "hunter2secret"
ENVIRON = {"MW_SECRET": SECRET, "MW_EMPTY": ""}


def cases():
    found = {}
    for block in GOLDEN.read_text(encoding="utf-8").split("\n== ")[1:]:
        title, _, rest = block.partition("\n")
        files = {}
        for part in ("\n" + rest).split("\n-- ")[1:]:
            name, _, text = part.partition("\n")
            files[name] = text
        found[title] = files
    return found


CASES = cases()


def said_of(files, folder, monkeypatch):
    """Return what is told of the first of these files, by paths relative to the folder."""
    monkeypatch.chdir(folder)
    names = [name for name in files if name != "says"]
    for name in names:
        Path(name).write_text(files[name], encoding="utf-8")
    with pytest.raises(ConfigurationError) as refusal:
        read_configuration(Path(names[0]), environ=ENVIRON)
    return [str(problem) for problem in refusal.value.problems]


def test_there_are_as_many_cases_as_were_written():
    assert len(CASES) >= 50
    assert all("says" in files and len(files) > 1 for files in CASES.values())


@pytest.mark.parametrize("title", CASES)
def test_each_gives_its_sentences(title, tmp_path, monkeypatch):
    files = CASES[title]
    said = said_of(files, tmp_path, monkeypatch)
    assert said == files["says"].strip().splitlines()
    assert SECRET not in "".join(said).lower()


@pytest.mark.parametrize("title", CASES)
def test_each_line_that_is_named_holds_the_key(title):
    """A sentence that names a line names the one where the last part of the key stands, or the key above."""
    for sentence in CASES[title]["says"].strip().splitlines():
        file, _, rest = sentence.partition(":")
        line, _, rest = rest.partition(": ")
        if not line.isdecimal() or ": " not in rest:
            continue
        text = CASES[title][file].splitlines()[int(line) - 1]
        key = rest.split(": ", 1)[0]
        if " " in key and "->" not in key:
            continue  # about the line as such
        assert any(part and part in text for part in (key, *key.split("."))), (key, text)
