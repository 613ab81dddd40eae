"""Renders HTML pages; loads templates and static files once.

Jinja2 escapes all foreign text, and an unknown name in a template is an error. No markup contains scripts or
styles, so that the content policy can forbid both.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from alerts.reports import POLICY
from alerts.reports import wording as report_texts
from fleet.quantity import duration_text
from fleet.series.catalogue import OUTCOMES
from fleet.verdicts.vocabulary import Verdict
from mirrorwatch.audits.views import run_address, run_text, took_text
from mirrorwatch.web import texts
from mirrorwatch.web.pages.budget_chart import budget_chart
from mirrorwatch.web.pages.charts import latency_chart, newest_measured
from mirrorwatch.web.pages.group_picture import offsets_picture
from mirrorwatch.web.pages.groups import (
    MEANINGS,
    STATUS_VERDICTS,
    ShownName,
    behind_text,
    offset_text,
)
from mirrorwatch.web.pages.incidents import bar_paths, bar_text, runbook_name
from mirrorwatch.web.pages.mirrors import flow_address, has_offsets
from mirrorwatch.web.pages.picture import MOST_DRAWN, picture_of
from mirrorwatch.web.pages.runbooks import Mitigations

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from alerts.incidents import Incident
    from alerts.reports import Report
    from mirrorwatch.service.view import FlowView, ServiceView

_CONTENT_TYPES = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}

# The stages in the order of a probe; the total comes first.
STAGES = {
    "end_to_end": "end to end",
    "replication": "replication",
    "ack": "source ack",
    "queueing": "queueing",
}

_EXPECTED = ("expected", "settled", "in_flight", "outstanding", "inherited")
_SUMS = ("concluded", "delivered")


@dataclass(frozen=True, slots=True)
class StaticFile:
    """One file under /static, with the hash of its content for its address."""

    name: str
    body: bytes
    content_type: str
    digest: str


class Page:
    """Renders pages; holds templates and static files, no state."""

    def __init__(self) -> None:
        self.static = _static_files()
        self.build = hashlib.sha256("".join(f.digest for f in self.static.values()).encode()).hexdigest()[:12]
        environment = Environment(
            loader=PackageLoader("mirrorwatch"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            auto_reload=False,
            finalize=_readable,
        )
        environment.globals |= {
            "asset": self.asset,
            "counter_groups": counter_groups,
            "build": self.build,
            "glyphs": texts.GLYPHS,
            "latency_chart": latency_chart,
            "status_verdicts": STATUS_VERDICTS,
            "meanings": MEANINGS,
            "mitigations": Mitigations(),
            "most_drawn": MOST_DRAWN,
            "newest_measured": newest_measured,
            "offsets_picture": offsets_picture,
            "stages": STAGES,
            "Verdict": Verdict,
        }
        environment.filters |= {
            "age": texts.age_text,
            "worth": texts.bounded_age_text,
            "bar_paths": bar_paths,
            "bar_text": bar_text,
            "bounds": texts.bounds_text,
            "anchor": anchor,
            "arrow": arrow,
            "behind": behind_text,
            "duration": duration_text,
            "flow_address": flow_address,
            "has_offsets": has_offsets,
            "heartbeat": texts.heartbeat_text,
            "lag": texts.number_text,
            "lasted": texts.lasted_text,
            "latency": texts.latency_text,
            "offset": offset_text,
            "passed_by": texts.unreached_text,
            "probes_lost": texts.probes_lost,
            "recent": texts.recent_text,
            "run_address": run_address,
            "runbook_name": runbook_name,
            "run_came_to": run_text,
            "share": texts.share_text,
            "shown": ShownName.of,
            "times": times_of,
            "took": took_text,
            "what": texts.what_text,
        }
        # Load all now: an upgrade may replace the files while this process runs.
        self._templates = {name: environment.get_template(name) for name in environment.list_templates()}

    def asset(self, name: str) -> str:
        """Return the address of a static file, with the hash of its content for caching."""
        return f"/static/{name}?v={self.static[name].digest}"

    def sheet(self, *names: str) -> str:
        """Return the text of style sheets, for a page with an inline style."""
        return "\n".join(self.static[name].body.decode("utf-8") for name in names)

    def page(self, view: ServiceView) -> str:
        """Render the whole document."""
        return self._templates["page.html"].render(self._names(view))

    def fragment(self, view: ServiceView) -> str:
        """Render the part that the page updates: the element `view`, with title and icon as attributes."""
        return self._templates["view.html"].render(self._names(view))

    def draw(self, template: str, names: Mapping[str, Any], *, now_at: float) -> str:
        """Render a page with `names` as its contents, `verdict` among them."""
        common = {"icon": self.asset(f"icon-{names['verdict']}.svg"), "now_at": now_at, "when": _when(now_at)}
        return self._templates[template].render(names, **common)

    def away(self, sentence: str, *, now_at: float, of_groups: bool) -> str:
        """Render a page that says why there is no page about groups, or about a flow's offsets."""
        names = {"sentence": sentence, "verdict": Verdict.UNKNOWN, "of_groups": of_groups}
        return self.draw("group_away.html", names, now_at=now_at)

    def report(self, report: Report) -> str:
        """Render a report on objectives as a self-contained document."""
        charts = [(one, budget_chart(report, one)) for one in report.objectives]
        missed = any(one.met is False for one in report.objectives)
        covered = all(one.covered for one in report.objectives)
        return self._templates["slo_report.html"].render(
            report=report,
            charts=[each for each in charts if each[1] is not None],
            stretches=report.worst_stretches(),
            policy=POLICY,
            texts=report_texts,
            verdict=Verdict.LOSING if missed else Verdict.HEALTHY if covered else Verdict.UNKNOWN,
            sheet=Markup(self.sheet("page.css", "slo-report.css")),  # noqa: S704 - our own text
        )

    def _names(self, view: ServiceView) -> dict[str, Any]:
        """Return the contents of the status page."""
        worst = texts.worst(view)
        return {
            "view": view,
            "now_at": view.now_at,
            "headline": texts.headline(view),
            "icon": self.asset(f"icon-{worst}.svg"),
            "notes": texts.side_notes(view),
            "picture": picture_of(view),
            "title": texts.title(view),
            "when": _when(view.now_at),
            "worst": worst,
        }


def _when(now_at: float) -> Callable[[float], Markup]:
    """Return a function that writes times relative to now."""

    def when(at: float) -> Markup:
        return Markup('<time datetime="{}">{}</time>').format(
            texts.iso_text(at), texts.moment_text(at, now_at)
        )

    return when


def _readable(value: Any) -> Any:
    """Keep names from changing the text direction; Jinja2 escapes the result."""
    return texts.plain(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def times_of(incident: Incident, now_at: float) -> str:
    """Write start and end of a finished incident."""
    return texts.times_text(incident.started_at, incident.bad_until_at, now_at)


def anchor(flow: str) -> str:
    """Return the id of a flow's card, with letters and digits only."""
    return "flow-" + hashlib.sha256(flow.encode("utf-8", "surrogatepass")).hexdigest()[:12]


def arrow(flow: FlowView | Incident) -> Markup:
    """Write a flow; each name is isolated, so that it cannot change the text direction of the other."""
    return Markup('<bdi>{}</bdi> <span class="to" role="img" aria-label="to">→</span> <bdi>{}</bdi>').format(
        escape(texts.plain(flow.source)), escape(texts.plain(flow.target))
    )


def counter_groups(books: Mapping[str, int]) -> tuple[tuple[str, tuple[tuple[str, int], ...]], ...]:
    """Group the counters: due probes, outcomes, flags."""
    known = {*_EXPECTED, *OUTCOMES, *_SUMS}
    groups = (
        ("Due", _EXPECTED),
        ("Outcomes", OUTCOMES),
        ("Flags", tuple(name for name in books if name not in known)),
        ("Sums", _SUMS),
    )
    return tuple(
        (heading, tuple((name, books[name]) for name in names if name in books))
        for heading, names in groups
        if any(name in books for name in names)
    )


def _static_files() -> dict[str, StaticFile]:
    """Read every static file of the package with a known extension."""
    found: dict[str, StaticFile] = {}
    for entry in sorted(files("mirrorwatch").joinpath("static").iterdir(), key=lambda each: each.name):
        content_type = _CONTENT_TYPES.get(entry.name.rpartition(".")[2])
        if content_type is not None:
            body = entry.read_bytes()
            digest = hashlib.sha256(body).hexdigest()[:12]
            found[entry.name] = StaticFile(entry.name, body, content_type, digest)
    return found
