"""Absolute paths for Spark's Java process, which runs in another folder.

Java runs in a temporary folder, because Spark writes to its current folder (SPARK-52396), which may be
read-only. Paths relative to our folder must keep their meaning there.
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


def is_local(master: str) -> bool:
    """Return whether all of Spark runs on this machine."""
    return master.startswith("local")


def folder_for_spark(typed: str, *, master: str, here: str) -> str:
    """Return a digest's folder for Spark; `here` is our absolute folder.

    A URL is unchanged, and so is a path if Spark runs on other machines, whose file system it is on.
    """
    if _SCHEME.match(typed) or not is_local(master):
        return typed
    return os.path.normpath(os.path.join(here, typed))  # noqa: PTH118 - a path of Spark's, which is a text


def local_folder(typed: str, *, master: str, here: str, environ: Mapping[str, str]) -> str | None:
    """Return the folder of this machine that `typed` certainly is to Spark, or None.

    Settings of Spark or Hadoop may make a path without a scheme mean another file system.
    """
    if not is_local(master):
        return None
    if typed.lower().startswith("file:"):
        return typed[len("file:") :]
    if _SCHEME.match(typed) or any(environ.get(name) for name in _LEAD_ELSEWHERE):
        return None
    return folder_for_spark(typed, master=master, here=here)


def is_absolute(folder: str) -> bool:
    """Return whether a folder means the same everywhere: an absolute path or a URL."""
    return folder.startswith("/") or _SCHEME.match(folder) is not None


def absolute_folders(environ: Mapping[str, str], *, here: str) -> dict[str, str]:
    """Return the variables with relative folders for Spark and Java, made absolute."""
    return {
        name: os.path.normpath(os.path.join(here, environ[name]))  # noqa: PTH118 - as above
        for name in _FOLDERS
        if environ.get(name) and not os.path.isabs(environ[name])  # noqa: PTH117 - as above
    }
