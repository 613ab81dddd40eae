"""Grafana dashboards as JSON for Grafana 10 and later.

panel     panels and boards: queries, and how to show their results
builder   a board as the JSON of a dashboard, through grafanalib
promql    selectors and rates of the service's own series
boards/   fleet, flow, groups, checksums, service
"""

from __future__ import annotations

from dashboards.boards import BOARDS
from dashboards.builder import dashboard
from dashboards.panel import Board, Panel, Query

__all__ = ["BOARDS", "Board", "Panel", "Query", "dashboard"]
