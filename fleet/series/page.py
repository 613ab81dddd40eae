"""Write the reference of all series: `python -m fleet.series.page > docs/reference/metrics.md`."""

from __future__ import annotations

import sys

from fleet.series.catalogue import CATALOGUE
from fleet.series.kinds import PREFIX, Group, Label, Series

_HEAD = f"""# Series

Every series that `/metrics` exposes. This page is generated from `fleet/series/catalogue.py` by
`python -m fleet.series.page > docs/reference/metrics.md`: change the catalogue, not the page.

- The first sentence of a meaning is the metric's help text.
- Time is in seconds.
- Counters exist at 0 from the start, one for each value of a closed label. Those of a topic exist once the
  topic is known.
- A histogram `x` has the series `x_bucket`, `x_sum` and `x_count`.
- *Opt-in* series are exposed only if the configuration enables them.
- All names start with `{PREFIX}`, except `process_*`. These have the usual names of Prometheus clients. They
  cover the service process, without the process of the lag monitor.
- The series of *Consumer groups* and *Replication, from offsets* are absent while the process of the lag
  monitor starts or does not answer. `last_over_time(...[2m])` bridges a reload.
"""
_LABELS = "Labels"


def metrics_page() -> str:
    """Return the whole page, ending in a newline."""
    return "\n".join([_HEAD, _contents(), *(_section(group) for group in Group), _labels_section()])


def _contents() -> str:
    titles = [*(group.value for group in Group), _LABELS]
    anchors = [title.lower().replace(",", "").replace(" ", "-") for title in titles]
    lines = [f"- [{title}](#{anchor})" for title, anchor in zip(titles, anchors, strict=True)]
    return "\n".join(["On this page:", "", *lines, ""])


def _section(group: Group) -> str:
    rows = [_row(series) for series in CATALOGUE if series.group is group]
    return "\n".join(
        [
            f"## {group.value}",
            "",
            "| series | kind | unit | labels | meaning |",
            "|---|---|---|---|---|",
            *rows,
            "",
        ]
    )


def _row(series: Series) -> str:
    labels = ", ".join(f"`{name}`" for name in series.label_names) or "none"
    meaning = " ".join(filter(None, (series.help, series.notes, "*Opt-in.*" if series.opt_in else "")))
    return (
        f"| `{series.full_name}` | {series.kind.value} | {series.unit.value} | {labels} | {_cell(meaning)} |"
    )


def _labels_section() -> str:
    lines = [f"## {_LABELS}", "", "| label | of | meaning | values |", "|---|---|---|---|"]
    users: dict[Label, list[str]] = {}
    for series in CATALOGUE:
        for label in series.labels:
            users.setdefault(label, []).append(f"`{series.name}`")
    for label, names in users.items():
        values = ", ".join(f"`{value}`" for value in label.values) if label.values is not None else "open"
        of = "every series of a flow" if label.name in {"flow", "source_cluster", "target_cluster"} else ""
        lines.append(f"| `{label.name}` | {of or ', '.join(names)} | {_cell(label.help)} | {values} |")
    return "\n".join([*lines, ""])


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    sys.stdout.write(metrics_page())
