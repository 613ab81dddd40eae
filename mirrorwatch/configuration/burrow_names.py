"""Names of clusters under /v3, Burrow's API: `clusters.A.burrow_name`, else the alias."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mirrorwatch.configuration.sections import BURROW_NAME

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from fleet.errors import Problem

LONGEST = 200


def names_for_burrow(
    aliases: Iterable[str],
    names: Mapping[str, str],
    *,
    where: Callable[[tuple[str, ...], str], Problem],
) -> tuple[dict[str, str], list[Problem]]:
    """Return the name of each cluster by alias, and a problem for each empty, long or repeated name."""
    found: dict[str, str] = {}
    problems = []
    owners: dict[str, str] = {}
    for alias in sorted(aliases, key=lambda one: (one not in names, one)):
        name = names.get(alias, alias)
        if alias in names and (not name.strip() or len(name) > LONGEST):
            sentence = f"must have 1 to {LONGEST} characters; remove it to use the alias {alias}"
            problems.append(where(("clusters", alias, BURROW_NAME), sentence))
            continue
        owner = owners.setdefault(name, alias)
        if owner != alias:
            at = alias if alias in names else owner
            other = owner if alias in names else alias
            sentence = (
                f"'{name}' is also the name of cluster {other}; use another name, /v3 needs unique ones"
            )
            problems.append(where(("clusters", at, BURROW_NAME), sentence))
        found[alias] = name
    return found, problems
