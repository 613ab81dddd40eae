"""Paths as they were typed, made absolute before Spark's Java starts in another folder than ours.

Java starts in a scratch folder, since Spark writes to the folder that it is started in (SPARK-52396), which
nobody may be allowed to. What was relative to our own folder has to go on meaning the same there.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

_FOLDERS: Final = ("SPARK_HOME", "JAVA_HOME", "SPARK_CONF_DIR", "HADOOP_CONF_DIR", "YARN_CONF_DIR")
_LEAD_ELSEWHERE: Final = tuple(name for name in _FOLDERS if name != "JAVA_HOME")
_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")


def folder_for_spark(typed: str, *, master: str, here: str) -> str:
    """Return a digest's folder as Spark is to be told it; `here` is the absolute folder that we are in.

    One with a scheme is not ours to touch, nor is one without where Spark runs on other machines, whose own
    file system it is on.
    """
    if _SCHEME.match(typed) or not master.startswith("local"):
        return typed
    return os.path.normpath(os.path.join(here, typed))  # noqa: PTH118 - a path of Spark's, which is a text


def local_folder(typed: str, *, master: str, here: str, environ: Mapping[str, str]) -> str | None:
    """Return the folder of this machine that `typed` surely is to Spark; None where it may be elsewhere.

    What stands in a folder of Spark's or Hadoop's settings may make another file system the one that is meant
    by a folder without a scheme.
    """
    if not master.startswith("local"):
        return None
    if typed.lower().startswith("file:"):
        return typed[len("file:") :]
    if _SCHEME.match(typed) or any(environ.get(name) for name in _LEAD_ELSEWHERE):
        return None
    return folder_for_spark(typed, master=master, here=here)


def is_absolute(folder: str) -> bool:
    """Tell whether a folder means the same wherever it is named: from the root, or with its file system."""
    return folder.startswith("/") or _SCHEME.match(folder) is not None


def absolute_folders(environ: Mapping[str, str], *, here: str) -> dict[str, str]:
    """Return those variables that name a folder for Spark and its Java by a relative path, made absolute."""
    return {
        name: os.path.normpath(os.path.join(here, environ[name]))  # noqa: PTH118 - as above
        for name in _FOLDERS
        if environ.get(name) and not os.path.isabs(environ[name])  # noqa: PTH117 - as above
    }
