"""One module for each dashboard.

fleet      all flows
flow       one flow
groups     consumer groups of every cluster
checksums  checksum results
service    Mirrorwatch itself
"""

from __future__ import annotations

from dashboards.boards.checksums import CHECKSUMS
from dashboards.boards.fleet import FLEET
from dashboards.boards.flow import FLOW_BOARD
from dashboards.boards.groups import GROUPS
from dashboards.boards.service import SERVICE

BOARDS = (FLEET, FLOW_BOARD, GROUPS, CHECKSUMS, SERVICE)
