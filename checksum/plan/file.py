"""A plan file, which is copied to the other site: written completely or not at all, and refused if changed.

The file is JSON: its kind, the version, the plan's id, and the plan. The id is computed from the plan, so a
truncated or edited file is refused.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

from checksum.plan.document import from_document, plan_id, to_document
from checksum.plan.shape import VERSION
from checksum.report.document_values import Value, refuse
from runtime.files.whole_files import written_whole

if TYPE_CHECKING:
    from pathlib import Path

    from checksum.plan.shape import Plan

KIND = "mirrorwatch checksum plan"
MAX_FILE_BYTES = 512_000_000
_SHOWN = 12  # digits of an id


def write_plan(path: Path, plan: Plan) -> str:
    """Write a plan to a file, replacing it; return the plan's id.

    A device such as /dev/stdout is written directly, and symbolic links are followed. Raises
    ConfigurationError if the file cannot be written; the old file is then unchanged.
    """
    found = plan_id(plan)
    document = {"kind": KIND, "version": VERSION, "id": found, "plan": to_document(plan)}
    try:
        # The user that copies it to the other site must be able to read it.
        with written_whole(path, mode=0o644) as file:
            json.dump(document, file, separators=(",", ":"))
            file.write("\n")
    except OSError as error:
        refuse(str(path), "", f"cannot be written: {_reason(error)}")
    return found


def read_plan(path: Path) -> tuple[Plan, str]:
    """Return the plan in a file and its id; raises ConfigurationError if it is missing or invalid."""
    found = Value(_document(path), file=str(path))
    if not found.is_object or not found.has("kind") or found["kind"].held != KIND:
        refuse(str(path), "", "not a checksum plan; write one with `checksum plan --out`")
    version = found["version"].whole(0, 1_000_000)
    if version != VERSION:
        refuse(
            str(path),
            "version",
            f"unsupported version {version}, this release reads {VERSION}; use one release on both sites",
        )
    stated = found["id"].text(64)
    plan = from_document(found["plan"].held, file=str(path))
    if plan_id(plan) != stated:
        refuse(
            str(path),
            "id",
            f"is {stated[:_SHOWN]}…, but the plan has {plan_id(plan)[:_SHOWN]}…: the file was changed; use it"
            " as `checksum plan` wrote it",
        )
    return plan, stated


def _document(path: Path) -> object:
    try:
        with path.open("rb") as file:
            if os.fstat(file.fileno()).st_size > MAX_FILE_BYTES:
                refuse(str(path), "", f"not a checksum plan: larger than {MAX_FILE_BYTES} bytes")
            content = file.read(MAX_FILE_BYTES)
    except OSError as error:
        refuse(str(path), "", f"cannot be read: {_reason(error)}")
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        refuse(str(path), "", "invalid JSON: the file may be incomplete; copy it again")


def _reason(error: OSError) -> str:
    return (error.strerror or type(error).__name__).lower()
