"""Panels and boards: queries, and how to show their results."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Form(StrEnum):
    """How a panel draws."""

    LINES = "lines"
    NUMBER = "number"
    TABLE = "table"
    STATES = "states"  # a state over time
    HEATMAP = "heatmap"


@dataclass(frozen=True, slots=True)
class Query:
    """An expression of PromQL; the legend may name labels as `{{flow}}`."""

    expression: str
    legend: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """One panel; `unit` is Grafana's name. `link` is the target of a click on a row or a series.

    `limit_query` draws its value as a line, such as a threshold. `columns` of a table name the value of each
    query; `hidden` are labels that it omits. `may_be_empty`: no result is a good result.
    """

    title: str
    description: str
    queries: tuple[Query, ...]
    unit: str = "short"
    form: Form = Form.LINES
    width: int = 12
    height: int = 8
    columns: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    link: str | None = None
    minimum: float | None = 0.0
    maximum: float | None = None
    may_be_empty: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Variable:
    """A variable: the values of a label of a series; a series with matchers makes it depend on others."""

    name: str
    label: str
    series: str
    of: str
    many: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Board:
    """One dashboard: panels in titled rows; `page` is the path of Mirrorwatch's page."""

    uid: str
    title: str
    description: str
    rows: tuple[tuple[str, tuple[Panel, ...]], ...]
    variables: tuple[Variable, ...] = ()
    page: str = "/"
    alerts: str = ""  # matchers of alerts for annotations
