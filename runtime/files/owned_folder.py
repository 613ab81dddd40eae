"""Write a set of files into a folder that one command owns, and never overwrite a foreign file.

A manifest in the folder lists the files with their SHA-256. It is written first, with the sums of before and
after, so that the files of a killed process are recognised by the next one.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

from fleet.errors import ConfigurationError, Problem

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


def write_owned(
    folder: Path, files: Mapping[str, str], *, by: str = "render", keep: bool = False
) -> list[str]:
    """Make the folder contain exactly these owned files; return the written and removed paths.

    Paths are relative, with slashes. `by` is the command that owns the folder. `keep` leaves files of ours
    that are not among these. Raises ConfigurationError with every file that is in the way, and writes
    nothing then, or with the folder where the disk refuses.
    """
    try:
        owned = _owned(folder, by)
        kept = {path: sums for path, sums in owned.items() if keep and path not in files}
        owned = {path: sums for path, sums in owned.items() if path not in kept}
        problems = _in_the_way(folder, files, owned, by)
        if problems:
            raise ConfigurationError(problems)
        return _write(folder, files, owned, kept, folder / manifest_name(by))
    except OSError as error:
        sentence = f"cannot be written ({(error.strerror or '').lower()}); choose another folder"
        raise ConfigurationError([Problem(str(folder), "", sentence)]) from error


def manifest_name(by: str) -> str:
    """Return the name of the manifest of a folder that this command owns."""
    return f".mirrorwatch-{by}.json"


def _owned(folder: Path, by: str) -> dict[str, list[str]]:
    """Return the possible checksums of each owned file."""
    if folder.exists() and not folder.is_dir():
        raise ConfigurationError([Problem(str(folder), "", "is not a folder; name a folder to write into")])
    manifest = folder / manifest_name(by)
    if manifest.is_file():
        try:
            files = json.loads(manifest.read_bytes())["files"]
            return {str(path): [str(each) for each in sums] for path, sums in files.items()}
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            sentence = f"is not a manifest that {by} wrote; remove the folder, or choose another one"
            raise ConfigurationError([Problem(str(manifest), "", sentence)]) from error
    if folder.is_dir() and any(folder.iterdir()):
        sentence = f"is not empty, and {by} did not write what is in it; choose an empty folder"
        raise ConfigurationError([Problem(str(folder), "", sentence)])
    return {}


def _in_the_way(
    folder: Path, files: Mapping[str, str], owned: Mapping[str, list[str]], by: str
) -> list[Problem]:
    problems = []
    for path in sorted({*files, *owned}):
        place = folder / path
        if not place.exists() and not place.is_symlink():
            continue
        if path not in owned:
            sentence = f"exists, and {by} did not write it; move it away, or choose another folder"
        elif place.is_symlink() or not place.is_file():
            sentence = f"is not the file that {by} wrote; remove it"
        elif _sum(place.read_bytes()) not in owned[path]:
            sentence = f"was changed since {by} wrote it; move your changes elsewhere and remove it"
        else:
            continue
        problems.append(Problem(str(place), "", sentence))
    return problems


def _write(
    folder: Path,
    files: Mapping[str, str],
    owned: Mapping[str, list[str]],
    kept: Mapping[str, list[str]],
    manifest: Path,
) -> list[str]:
    folder.mkdir(parents=True, exist_ok=True)
    sums = {path: _sum(text.encode()) for path, text in files.items()}
    both = {
        path: [*owned.get(path, []), sums[path]] if path in sums else owned[path] for path in {*owned, *sums}
    }
    _put(manifest, _manifest({**kept, **both}))
    changed = []
    for path in sorted({*owned} - {*files}):
        (folder / path).unlink(missing_ok=True)
        changed.append(path)
    for path, text in sorted(files.items()):
        place = folder / path
        if not place.exists() or _sum(place.read_bytes()) != sums[path]:
            place.parent.mkdir(parents=True, exist_ok=True)
            _put(place, text)
            changed.append(path)
    _put(manifest, _manifest({**kept, **{path: [each] for path, each in sums.items()}}))
    return changed


def _put(place: Path, text: str) -> None:
    draft = place.with_name(f"{place.name}.new")
    draft.write_text(text, encoding="utf-8")
    draft.replace(place)


def _manifest(files: Mapping[str, list[str]]) -> str:
    return json.dumps({"files": dict(sorted(files.items()))}, indent=2) + "\n"


def _sum(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
