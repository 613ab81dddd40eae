"""A plan on disk, which is carried to the other site: written whole or not at all, believed only unchanged.

The file is JSON: what it is, the version, the plan's id, and the plan. The id is that of the plan within, so
a plan that was cut off, edited, or copied wrongly is refused with a sentence.
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
    """Write a plan to a file, in the place of what is there; return its id.

    What is no file, such as /dev/stdout, is written to as it is, and a link goes on leading where it leads.
    Raises ConfigurationError where the file cannot be written: then what was there still is.
    """
    found = plan_id(plan)
    document = {"kind": KIND, "version": VERSION, "id": found, "plan": to_document(plan)}
    try:
        # What is carried to another site may be read by who carries it.
        with written_whole(path, mode=0o644) as file:
            json.dump(document, file, separators=(",", ":"))
            file.write("\n")
    except OSError as error:
        refuse(str(path), "", f"cannot be written: {_reason(error)}")
    return found


def read_plan(path: Path) -> tuple[Plan, str]:
    """Return the plan in a file and its id.

    Raises ConfigurationError for a file that is not there, is no plan, is of another version, is not whole,
    or holds another plan than its id tells.
    """
    found = Value(_document(path), file=str(path))
    if not found.is_object or not found.has("kind") or found["kind"].held != KIND:
        refuse(str(path), "", "is no plan of a checksum; `checksum plan` writes one")
    version = found["version"].whole(0, 1_000_000)
    if version != VERSION:
        refuse(
            str(path),
            "version",
            f"is {version}, and this program reads {VERSION}: plan and digest with one version on both sites",
        )
    told = found["id"].text(64)
    plan = from_document(found["plan"].held, file=str(path))
    if plan_id(plan) != told:
        refuse(
            str(path),
            "id",
            f"is {told[:_SHOWN]}…, and the plan in it has {plan_id(plan)[:_SHOWN]}…: it was changed after it"
            " was written; take the file as `checksum plan` wrote it",
        )
    return plan, told


def _document(path: Path) -> object:
    try:
        with path.open("rb") as file:
            if os.fstat(file.fileno()).st_size > MAX_FILE_BYTES:
                refuse(str(path), "", f"is larger than {MAX_FILE_BYTES} bytes, which no plan is")
            content = file.read(MAX_FILE_BYTES)
    except OSError as error:
        refuse(str(path), "", f"cannot be read: {_reason(error)}")
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        refuse(str(path), "", "is no JSON, or not whole: was it cut off on its way? Take it anew")


def _reason(error: OSError) -> str:
    return (error.strerror or type(error).__name__).lower()
