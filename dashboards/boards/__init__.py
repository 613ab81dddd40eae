"""One module for each board."""

from __future__ import annotations

from dashboards.boards.checksums import CHECKSUMS
from dashboards.boards.fleet import FLEET
from dashboards.boards.flow import FLOW_BOARD
from dashboards.boards.groups import GROUPS
from dashboards.boards.service import SERVICE

BOARDS = (FLEET, FLOW_BOARD, GROUPS, CHECKSUMS, SERVICE)
