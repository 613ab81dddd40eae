"""A board as the JSON of a Grafana dashboard.

grafanalib 0.7.1 writes schema 12, names data sources by a string, and writes null for missing values; Grafana
10 and later refuse or migrate that. `_current` converts it to the present schema.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from grafanalib import core
from grafanalib._gen import DashboardEncoder

from dashboards.panel import Form, Panel

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dashboards.panel import Board, Variable

SCHEMA_VERSION = 39  # Grafana 10.4; later ones migrate it without loss
SOURCE = {"type": "prometheus", "uid": "${datasource}"}
TAG = "mirrorwatch"
# Okabe and Ito: distinct for all kinds of colour blindness.
STATE_COLOURS = {
    "healthy": "#009E73",
    "late": "#E69F00",
    "unknown": "#999999",
    "repeating": "#56B4E9",
    "stalled": "#D55E00",
    "altered": "#CC79A7",
    "losing": "#882255",
}
_YES = {"text": "yes", "color": STATE_COLOURS["stalled"]}
_YES_OR_NO = ({"type": "value", "options": {"0": {"text": "no"}, "1": _YES}},)
# A cell without a colour of its own would have one of the palette.
_YES_IN_A_TABLE = ({"type": "value", "options": {"0": {"text": "no", "color": "transparent"}, "1": _YES}},)
_COLUMNS = 24
_LEGACY = frozenset(
    {
        "__inputs", "cacheTimeout", "editable", "hideControls", "inputs", "intervalFactor", "metric", "rows",
        "sharedCrosshair", "step", "style", "target",
    }
)  # fmt: skip
_PANEL_KEYS = frozenset(
    {
        "collapsed", "description", "fieldConfig", "gridPos", "id", "links", "options", "panels",
        "pluginVersion", "targets", "title", "transformations", "type",
    }
)  # fmt: skip


def dashboard(board: Board, *, job: str, service: str = "") -> dict[str, Any]:
    """Return the dashboard's JSON; `job` is the Prometheus job of the service, `service` its address."""
    panels = list(_laid_out(board))
    plain = core.Dashboard(
        title=board.title,
        uid=board.uid,
        description=board.description,
        tags=[TAG],
        timezone="browser",
        refresh="30s",
        schemaVersion=SCHEMA_VERSION,
        graphTooltip=1,
        time=core.Time("now-6h", "now"),
        templating=core.Templating([_template(one) for one in board.variables]),
        panels=panels,
    )
    found: dict[str, Any] = json.loads(json.dumps(plain.to_json_data(), cls=DashboardEncoder))
    current: dict[str, Any] = _current(found)
    current["templating"] = {"list": [_choose_source(), _choose_job(job), *map(_choice, board.variables)]}
    current["annotations"] = {"list": [_annotation(board)]}
    current["links"] = [_all_boards(), *([_page(service + board.page)] if service else [])]
    current["editable"] = False
    return current


def _laid_out(board: Board) -> Iterator[Any]:
    """Yield panels with their places: each row from the left, wrapped when full."""
    number, y = 0, 0
    for title, panels in board.rows:
        number += 1
        yield core.RowPanel(title=title, id=number, gridPos=core.GridPos(h=1, w=_COLUMNS, x=0, y=y))
        y, x, tallest = y + 1, 0, 0
        for one in panels:
            if x + one.width > _COLUMNS:
                x, y, tallest = 0, y + tallest, 0
            number += 1
            yield _panel(one, number, core.GridPos(h=one.height, w=one.width, x=x, y=y))
            x, tallest = x + one.width, max(tallest, one.height)
        y += tallest


def _panel(panel: Panel, number: int, place: core.GridPos) -> Any:
    make, more = {
        Form.LINES: (core.TimeSeries, _lines),
        Form.NUMBER: (core.Stat, _number),
        Form.TABLE: (core.Table, _table),
        Form.STATES: (core.StateTimeline, _states),
        Form.HEATMAP: (core.Heatmap, _heatmap),
    }[panel.form]
    tabular = panel.form is Form.TABLE
    form = "table" if tabular else "heatmap" if panel.form is Form.HEATMAP else "time_series"
    targets = [
        core.Target(
            expr=query.expression,
            legendFormat=query.legend or "__auto",
            refId=chr(ord("A") + place_),
            format=form,
            instant=tabular,
        )
        for place_, query in enumerate(panel.queries)
    ]
    return make(
        title=panel.title,
        description=panel.description,
        id=number,
        gridPos=place,
        targets=targets,
        extraJson=more(panel),
    )


def _field(panel: Panel, **custom: Any) -> dict[str, Any]:
    defaults: dict[str, Any] = {
        "unit": panel.unit,
        "color": {"mode": "palette-classic-by-name"},
        "custom": custom,
    }
    if panel.minimum is not None:
        defaults["min"] = panel.minimum
    if panel.maximum is not None:
        defaults["max"] = panel.maximum
    if panel.link is not None:
        defaults["links"] = [{"title": "Open", "url": panel.link}]
    return {"defaults": defaults, "overrides": []}


def _lines(panel: Panel) -> dict[str, Any]:
    limits = {
        "matcher": {"id": "byRegexp", "options": "/limit|threshold|objective/"},
        "properties": [
            {"id": "custom.lineStyle", "value": {"fill": "dash", "dash": [8, 8]}},
            {"id": "color", "value": {"mode": "fixed", "fixedColor": STATE_COLOURS["stalled"]}},
        ],
    }
    config = _field(panel, lineWidth=1, fillOpacity=8, showPoints="never", spanNulls=False)
    return {"fieldConfig": {**config, "overrides": [limits]}}


def _number(panel: Panel) -> dict[str, Any]:
    return {
        "fieldConfig": _field(panel),
        "options": {
            "reduceOptions": {"calcs": ["lastNotNull"], "fields": "", "values": False},
            "colorMode": "value",
            "graphMode": "area",
            "textMode": "auto",
        },
    }


def _table(panel: Panel) -> dict[str, Any]:
    hidden = dict.fromkeys(("Time", "__name__", "instance", "job", *panel.hidden), True)
    names = {f"Value #{chr(ord('A') + place)}": name for place, name in enumerate(panel.columns)}
    if len(panel.columns) == 1:
        names["Value"] = panel.columns[0]
    by_value = [
        {
            "matcher": {"id": "byName", "options": name},
            "properties": [
                {"id": "mappings", "value": _YES_IN_A_TABLE},
                {"id": "custom.cellOptions", "value": {"type": "color-background"}},
            ],
        }
        for name in panel.columns
        if name in STATE_COLOURS
    ]
    config = _field(panel, align="auto", filterable=True)
    return {
        "fieldConfig": {**config, "overrides": by_value},
        "options": {
            "showHeader": True,
            "sortBy": [{"displayName": name, "desc": True} for name in panel.columns],
        },
        "transformations": [
            {"id": "merge", "options": {}},
            {"id": "organize", "options": {"excludeByName": hidden, "renameByName": names}},
        ],
    }


def _states(_panel: Panel) -> dict[str, Any]:
    defaults = {"custom": {"fillOpacity": 80, "lineWidth": 0}, "mappings": _YES_OR_NO}
    return {
        "fieldConfig": {"defaults": defaults, "overrides": []},
        "options": {"mergeValues": True, "showValue": "never", "rowHeight": 0.9},
    }


def _heatmap(_panel: Panel) -> dict[str, Any]:
    # Prometheus' buckets are cumulative by `le`; Grafana must be told so.
    return {
        "fieldConfig": {"defaults": {"custom": {}}, "overrides": []},
        "options": {
            "calculate": False,
            "cellGap": 1,
            "color": {"mode": "scheme", "scheme": "Viridis", "steps": 64, "exponent": 0.5},
            "yAxis": {"unit": "s", "axisPlacement": "left"},
            "rowsFrame": {"layout": "le"},
            "tooltip": {"mode": "single", "yHistogram": True},
        },
        "pluginVersion": "10.4.0",
    }


def _template(variable: Variable) -> core.Template:
    return core.Template(name=variable.name, query="", dataSource="")


def _choice(variable: Variable) -> dict[str, Any]:
    query = f"label_values({variable.series}, {variable.of})"
    chosen: dict[str, Any] = {"text": "All", "value": "$__all"} if variable.many else {}
    return {
        "name": variable.name,
        "label": variable.label,
        "type": "query",
        "datasource": SOURCE,
        "definition": query,
        "query": {"query": query, "refId": variable.name},
        "refresh": 2,
        "sort": 1,
        "multi": variable.many,
        "includeAll": variable.many,
        "allValue": ".*" if variable.many else "",
        "current": chosen,
        "options": [],
        "hide": 0,
    }


def _choose_source() -> dict[str, Any]:
    return {
        "name": "datasource",
        "label": "Data source",
        "type": "datasource",
        "query": "prometheus",
        "refresh": 1,
        "multi": False,
        "includeAll": False,
        "current": {},
        "options": [],
        "hide": 0,
    }


def _choose_job(job: str) -> dict[str, Any]:
    return {
        "name": "job",
        "label": "Job",
        "type": "constant",
        "query": job,
        "current": {"text": job, "value": job},
        "options": [{"text": job, "value": job, "selected": True}],
        "hide": 2,
    }


def _annotation(board: Board) -> dict[str, Any]:
    matchers = ", ".join(filter(None, ('alertname=~"Mirrorwatch.*"', 'alertstate="firing"', board.alerts)))
    return {
        "name": "Alerts",
        "datasource": SOURCE,
        "enable": True,
        "iconColor": STATE_COLOURS["stalled"],
        "expr": f"ALERTS{{{matchers}}}",
        "titleFormat": "{{alertname}}",
        "textFormat": "{{flow}} {{severity}}",
        "step": "60s",
    }


def _all_boards() -> dict[str, Any]:
    return {
        "title": "Mirrorwatch",
        "type": "dashboards",
        "tags": [TAG],
        "asDropdown": True,
        "includeVars": True,
        "keepTime": True,
        "targetBlank": False,
        "icon": "external link",
        "tooltip": "",
        "url": "",
    }


def _page(address: str) -> dict[str, Any]:
    return {
        "title": "Mirrorwatch's page",
        "type": "link",
        "url": address,
        "targetBlank": True,
        "icon": "external link",
        "tooltip": "The flow in Mirrorwatch, with evidence",
        "asDropdown": False,
        "includeVars": False,
        "keepTime": False,
        "tags": [],
    }


def _current(value: Any) -> Any:
    """Return the JSON without nulls and old keys, and with data sources as objects."""
    if isinstance(value, list):
        return [_current(each) for each in value]
    if not isinstance(value, dict):
        return value
    kept = {key: _current(each) for key, each in value.items() if each is not None and key not in _LEGACY}
    if "gridPos" in kept:
        kept = {key: each for key, each in kept.items() if key in _PANEL_KEYS}
        if kept["type"] != "row":
            kept["datasource"] = SOURCE
    if "expr" in kept and "refId" in kept:
        kept = {key: each for key, each in kept.items() if key != "query"} | {"datasource": SOURCE}
    return kept
