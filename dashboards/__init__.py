"""Grafana dashboards, linked with each other, as JSON that Grafana 10 and later read.

panel     what a panel asks and shows
builder   a board laid out, through grafanalib, with what that leaves wrong put right
promql    selectors and rates of the service's own series
boards/   fleet, flow, groups, checksums, and the service itself
"""

from __future__ import annotations

from dashboards.boards import BOARDS
from dashboards.builder import dashboard
from dashboards.panel import Board, Panel, Query

__all__ = ["BOARDS", "Board", "Panel", "Query", "dashboard"]
