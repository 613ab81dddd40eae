"""Write the reference of causes: `python -m fleet.verdicts.page > docs/reference/causes.md`."""

from __future__ import annotations

import sys

from fleet.verdicts.vocabulary import Cause

_HEAD = """\
# Causes

A verdict that is not `healthy` has one of these causes. A is the source cluster of the flow, B its target.
The link of a cause leads to its runbook. [Verdicts](verdicts.md) explains what proves each cause.
This page is generated: `python -m fleet.verdicts.page > docs/reference/causes.md`.

| cause | meaning | what to do | ticket |
|---|---|---|---|
"""


def causes_page() -> str:
    """Return the whole page, ending in a newline."""
    return _HEAD + "".join(map(_row, Cause))


def _row(one: Cause) -> str:
    ticket = "" if one.ticket is None else f"`{one.ticket.alert}` after {one.ticket.for_s} s"
    name = f"[`{one.value}`](../../alerts/runbooks/{one.value}.md)"
    return f"| {name} | {one.meaning} | {one.to_do} | {ticket} |\n"


if __name__ == "__main__":
    sys.stdout.write(causes_page())
