"""The HTML page of one or several runs, made from `--json` documents; it needs no other file. Pure.

It has no scripts, links or fonts, and its policy lets a browser load nothing. Everything is limited, and what
is left out is counted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from checksum.report.lists import (
    expected,
    findings,
    left_out,
    not_verified,
    partitions,
    unresolved,
)
from checksum.report.markup import facts, faint, name, number, section, share_text, text
from checksum.report.parsed_runs import runs_of, status_of
from checksum.report.svg import timeline_figure
from checksum.report.timeline import Kind, timeline_of
from fleet.quantity import count_text

if TYPE_CHECKING:
    from collections.abc import Mapping

MOST_FINDINGS: Final = 1000
MOST_OTHERS: Final = 200  # lines of other lists
MOST_PARTITIONS: Final = 500

_POLICY: Final = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
)
_LOOKS: Final = {
    0: ("healthy", "\N{CHECK MARK}", "OK"),
    1: ("losing", "\N{MULTIPLICATION X}", "FAILED"),
    3: ("unknown", "?", "Incomplete"),
    4: ("stalled", "\N{BLACK SQUARE}", "Not available"),
}
_NOTHING_NEW: Final = ("unknown", "\N{MIDDLE DOT}", "No new records")
_MEANINGS: Final = {
    Kind.NOTHING: "no record",
    Kind.EQUAL: "verified equal",
    Kind.EXPECTED: "duplicates or aborted records, expected under at-least-once",
    Kind.LEFT_OUT: "left out",
    Kind.NOT_VERIFIED: "not verified",
    Kind.DIFFERENCE: "difference",
}
_COUNTED: Final = {
    **_MEANINGS,
    Kind.EQUAL: "equal counts, records not compared",
    Kind.NOT_VERIFIED: "counts not compared",
    Kind.DIFFERENCE: "counts differ",
}


def render(document: Mapping[str, Any], *, sheet: str) -> str:
    """Return the page of a run's document, or of one with several `runs`; `sheet` is the CSS."""
    runs = runs_of(document)
    status = status_of(document.get("status"))
    is_empty = status == 0 and not any(map(_compared, runs))
    look = _NOTHING_NEW if is_empty else _LOOKS.get(status, _LOOKS[4])
    flows = ", ".join(run["flow"] for run in runs[:3])
    title = f"{look[2]}: checksum of {flows}"
    # The CSS must not close its own element.
    style = sheet.replace("</", "<\\/")
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark"><meta name="robots" content="noindex">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        f"<title>{text(title)} · mirrorwatch</title><style>{style}</style></head>\n"
        f'<body><div class="page">{"".join(_run(run, index) for index, run in enumerate(runs))}'
        "<footer><p>Made by Mirrorwatch. Times are record timestamps in UTC.</p></footer>"
        "</div></body></html>\n"
    )


def _run(run: Mapping[str, Any], index: int) -> str:
    if run["failure"]:
        inside = f'<p class="notes">{text(run["failure"])}</p>'
        return _headline(run, "nothing compared", inside)
    parts = [
        _facts(run),
        _picture(run, index),
        findings(run, index),
        expected(run, index),
        unresolved(run, index),
        not_verified(run, index),
        left_out(run, index),
        partitions(run, index),
    ]
    return _headline(run, _summary(run), _when(run)) + f"<main>{''.join(parts)}</main>"


def _headline(run: Mapping[str, Any], summary: str, inside: str) -> str:
    look, sign, word = _NOTHING_NEW if _is_empty(run) else _LOOKS.get(run["status"], _LOOKS[4])
    return (
        '<header class="masthead"><p class="brand"><span><span class="brand-name">mirrorwatch</span>'
        f' / checksum</span></p><div class="headline v-{look}"><h1>'
        f'<span class="sign" aria-hidden="true">{sign}</span>'
        f" <span>{text(word)}: {_flow(run)}, {text(summary)}</span></h1>\n{inside}</div></header>\n"
    )


def _is_empty(run: Mapping[str, Any]) -> bool:
    """Return whether a run had nothing to compare, which is neither success nor failure."""
    return run["status"] == 0 and not _compared(run)


def _compared(run: Mapping[str, Any]) -> bool:
    """Return whether a run compared or counted anything."""
    return bool(run["partitions"]["count"])


def _flow(run: Mapping[str, Any]) -> str:
    """Return the flow; each name keeps its own direction."""
    source, arrow, target = run["flow"].partition("->")
    between = ' <span class="to" role="img" aria-label="to">\N{RIGHTWARDS ARROW}</span> '
    return f"{name(source)}{between}{name(target)}" if arrow else name(source)


def _summary(run: Mapping[str, Any]) -> str:
    if _is_empty(run):
        return f"nothing {'counted' if run['counts_only'] else 'compared'}"
    if run["counts_only"]:
        differing = run["findings"]["count"]
        compared = "only counts were compared"
        return f"counts differ in {count_text(differing, 'bucket')}; {compared}" if differing else compared
    wrong = run["records"]
    counts = [f"{value:,} {verdict}" for verdict, value in wrong.items() if value and verdict != "match"]
    if not counts:
        open_ones, found = run["not_read_again"]["count"], run["findings"]["count"]
        counts = [count_text(found, "finding") if found else "no difference"]
        counts = ["unresolved differences"] if open_ones and not found else counts
    return f"{', '.join(counts)} in {number(run['source_records'])} records"


def _when(run: Mapping[str, Any]) -> str:
    begun, ended = run["begun_at"], run["ended_at"]
    if begun and ended:
        said = f"From {begun} to {ended}"
    else:
        said = f"Planned at {run['planned_at'] or 'an unknown time'}"
    who = f", by {run['who']}" if run["who"] else ""
    return f'<p class="notes">{text(said + who)}.</p>'


def _facts(run: Mapping[str, Any]) -> str:
    pairs = []
    if run["coverage"] is not None and (_compared(run) or run["coverage"] < 1):
        pairs.append(("Verified", text(share_text(run["coverage"]))))
    pairs += [
        ("Records, source", number(run["source_records"])),
        ("Records, target", number(run["target_records"])),
        ("Topics", number(run["topics"])),
        ("Partitions", number(run["partitions"]["count"])),
    ]
    pairs += [(verdict.capitalize(), number(value)) for verdict, value in run["records"].items() if value]
    pairs += [("Not due yet", number(run["not_due"]))] if run["not_due"] else []
    plan = f"Plan {run['plan'][:12]}" + (f", run {run['run'][:12]}" if run["run"] else "")
    return f'<section class="group-facts" aria-label="In numbers">{facts(pairs)}{faint(plan + ".")}</section>'


def _picture(run: Mapping[str, Any], index: int) -> str:
    found = timeline_of(run)
    if found is None:
        inside = '<p class="nothing">No picture: the compared records have no timestamps.</p>'
    else:
        inside = timeline_figure(found, _COUNTED if run["counts_only"] else _MEANINGS)
        away = run["counts"]["count"] - len(run["counts"]["shown"])
        if away > 0:
            inside += faint(f"{away:,} more buckets are not in the document and not drawn.")
    return section(f"picture-{index}", "Partitions over time", inside)
