"""The rules of the house about who imports what, as one pure function over a file's path and source.

`breaches(path, source)` gives a sentence with a line for each rule that the file breaks. It reads the
syntax tree, so imports inside functions and for type checking count like any other.
"""

from __future__ import annotations

import ast
import re
import sys
from fnmatch import fnmatch
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

# Which of our packages a package may import, besides itself.
LAYERS = {
    "fleet": set(),
    "runtime": {"fleet"},
    "canary": {"fleet", "runtime"},
    "lagmon": {"fleet", "runtime"},
    "checksum": {"fleet", "runtime"},
    "alerts": {"fleet", "runtime"},
    "dashboards": {"fleet", "alerts"},
    "mirrorwatch": {"fleet", "runtime", "canary", "lagmon", "checksum", "alerts", "dashboards"},
}
NEVER_SHIPPED = {"deploy", "tests", "bench", "docs"}

HTTP = (
    "runtime/http/*.py",
    "mirrorwatch/api/operations.py",
    "mirrorwatch/web/replicas/forwarding.py",
    "mirrorwatch/web/routes/*.py",
    "mirrorwatch/cli/status.py",
    "mirrorwatch/service/service.py",
)
CONFIG = (
    "*/config.py",
    "mirrorwatch/failover/offsets_file.py",  # a file that comes back from its user
    "mirrorwatch/configuration/sections.py",
    "mirrorwatch/configuration/validation.py",
    "mirrorwatch/web/replicas/codec.py",  # what another replica sends
    "mirrorwatch/migration/positions.py",  # likewise
    "runtime/config/documents.py",
    "runtime/config/problems.py",
    "runtime/config/sections.py",
    "runtime/config/values.py",
    "runtime/config/web.py",
)

# Which files may import a library. A library that is not here has no place in the product yet.
HOMES = {
    "aiohttp": HTTP,
    "aws_msk_iam_sasl_signer": ("runtime/kafka/properties/msk_tokens.py",),
    "bcrypt": ("runtime/*.py",),
    "boto3": ("runtime/kafka/properties/msk_tokens.py",),
    "botocore": ("runtime/kafka/properties/msk*.py",),
    "click": ("mirrorwatch/*.py",),
    "confluent_kafka": ("runtime/kafka/*.py",),
    "cryptography": ("runtime/*.py",),
    "grafanalib": ("dashboards/builder.py",),
    "jinja2": ("mirrorwatch/web/pages/page.py",),
    "markdown_it": ("mirrorwatch/web/pages/runbooks.py",),
    "markupsafe": (
        "mirrorwatch/web/pages/page.py",
        "mirrorwatch/web/pages/runbooks.py",
    ),  # Jinja2's own type for escaped text
    "numpy": ("canary/*.py", "lagmon/*.py", "checksum/*.py", "runtime/*.py"),
    "prometheus_client": ("mirrorwatch/service/metrics.py",),
    "pydantic": CONFIG,
    "pydantic_core": CONFIG,
    "py4j": ("checksum/*.py",),  # PySpark's own link to Java, with its errors
    "pyspark": ("checksum/*.py",),
    "rich": ("mirrorwatch/*.py",),
    "sqlalchemy": (
        "runtime/store/*.py",
        "*/tables.py",
        "alerts/incident_tables.py",
        "canary/persistence/history.py",
        "canary/persistence/latches.py",
        "canary/persistence/leases.py",
        "canary/persistence/saving.py",
        "checksum/history/rows.py",
        "checksum/history/tables.py",
        "lagmon/snapshots/store.py",
        "lagmon/syncs/*tables.py",
    ),
    "structlog": ("runtime/process/logs*.py",),
    "yaml": ("runtime/config/strict_yaml.py", "runtime/config/yaml_output.py"),
    "yarl": HTTP,  # aiohttp's own type for addresses
}

# Pure modules and folders of pure modules; those of fleet all are.
PURE = {
    "alerts": {"incidents", "objectives", "rehearsals/rehearsal", "reports", "routing", "rules"},
    "canary": {
        "persistence/inherited",
        "site/topic_advice",
        "site/record_sizes",
        "tracker",
        "watch/health",
        "watch/findings",
        "watch/flow_summary",
        "watch/heartbeats",
        "watch/mirror_positions",
        "watch/mirror_tasks",
        "watch/second_writer",
        "watch/prober_faults",
        "watch/unreached",
        "watch/watch",
    },
    "checksum": {
        "plan/facts",
        "anchors/alignment",
        "anchors/distances",
        "anchors/pairs",
        "anchors/records",
        "anchors/search",
        "history/counts",
        "history/documents",
        "history/entries",
        "compare",
        "counts/counting",
        "counts/document",
        "counts/buckets",
        "digest/cell_rows",
        "digest/coverage",
        "digest/record_hash",
        "digest/record_hashes",
        "digest/xxhash64",
        "digest/xxhash64_many",
        "plan/building",
        "plan/cuts",
        "plan/document",
        "plan/due",
        "plan/validity",
        "plan/left_out_reasons",
        "plan/pacing",
        "plan/places",
        "plan/ranges",
        "plan/shape",
        "plan/verified_to",
        "plan/plan_text",
        "report",
        "recheck/block_differences",
        "recheck/block_ranges",
        "recheck/sequence_order",
        "spark/failures",
    },
    "lagmon": {
        "arrays/kinds",
        "arrays/place_rows",
        "burrow/ring",
        "burrow/rules",
        "burrow/sweep",
        "cluster/marks",
        "cluster/owned_places",
        "drift",
        "exposition/compression",
        "exposition/families",
        "exposition/family",
        "exposition/format",
        "exposition/joining",
        "exposition/once",
        "exposition/texts",
        "exposition/values",
        "failover/places",
        "failover/readiness",
        "failover/rehearsal",
        "failover/sentences",
        "failover/translation",
        "groups/growth",
        "groups/rules",
        "groups/sweep",
        "ingest/admin_plan",
        "logs/head_history",
        "logs/heads",
        "logs/heads_snapshot",
        "logs/near_ends",
        "logs/readable",
        "logs/readable_gaps",
        "logs/record_due",
        "logs/record_questions",
        "logs/record_times",
        "logs/start_history",
        "logs/time_lag",
        "logs/transaction_limit",
        "logs/writer_clocks",
        "mirrors/headroom/estimate",
        "mirrors/partitions/steps_back",
        "mirrors/tasks/assignments",
        "snapshots/file",
        "snapshots/frames",
        "snapshots/reading",
        "syncs/intake",
        "syncs/pairs",
        "syncs/queue",
        "syncs/runs",
        "syncs/thinning",
    },
}
IMPURE_LIBRARY = {
    "asyncio",
    "concurrent",
    "http",
    "logging",
    "multiprocessing",
    "random",
    "secrets",
    "select",
    "selectors",
    "signal",
    "socket",
    "socketserver",
    "ssl",
    "subprocess",
    "threading",
    "time",
    "uuid",
}
READS_THE_CLOCK = {"now", "today", "utcnow"}

VAGUE_NAMES = {"utils", "util", "helpers", "helper", "common", "manager", "base", "misc"}


def breaches(path: str, source: str) -> list[str]:
    """Return what is wrong in one of the product's files; `path` is relative to the repository's root."""
    where = PurePosixPath(path)
    tree = ast.parse(source, path)
    found = []
    if where.stem in VAGUE_NAMES:
        found.append((1, f"a file named {where.stem} has no one reason to exist"))
    for line, module in imports(where, tree):
        found += [(line, sentence) for sentence in _import_breaches(where, module)]
    found += _dynamic_imports(tree)
    if is_pure(where):
        found += _clock_readings(tree)
    return [f"{path}:{line}: {sentence}" for line, sentence in sorted(found)]


def is_pure(where: PurePosixPath) -> bool:
    """Return whether a file is a pure module: all of fleet, and those listed for other packages."""
    return _is_pure_name(where.with_suffix("").parts)


def _is_pure_name(parts: Sequence[str]) -> bool:
    """Return whether these are the parts of a pure module's name, or of something in it."""
    package, *inner = parts
    steps = {"/".join(inner[:count]) for count in range(1, len(inner) + 1)}
    return package == "fleet" or not steps.isdisjoint(PURE.get(package, ()))


def imports(where: PurePosixPath, tree: ast.AST) -> list[tuple[int, str]]:
    """Return line and dotted name of each thing imported; `from a import b` counts as `a.b`."""
    found = []
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                found += [(node.lineno, alias.name) for alias in names]
            case ast.ImportFrom(module=module, names=names, level=level):
                parts = list(where.parts[: len(where.parts) - level]) if level else []
                parts += [module] if module else []
                found += [(node.lineno, ".".join([*parts, alias.name])) for alias in names]
    return found


def _import_breaches(where: PurePosixPath, module: str) -> list[str]:
    top = module.split(".", maxsplit=1)[0]
    if top in NEVER_SHIPPED:
        return [f"{top} is never imported by the product, which is installed without it"]
    if top in LAYERS:
        return _layer_breaches(where, module)
    if top in sys.stdlib_module_names:
        wrong = is_pure(where) and top in IMPURE_LIBRARY
        return [f"{module} has no place in a pure module"] if wrong else []
    return _library_breaches(where, top)


def _library_breaches(where: PurePosixPath, top: str) -> list[str]:
    homes = HOMES.get(top)
    if where.parts[0] == "fleet":
        return [f"fleet imports the standard library and itself, not {top}"]
    if is_pure(where) and top != "numpy":
        return [f"a pure module imports the standard library, fleet and pure siblings, not {top}"]
    if homes is None:
        return [f"{top} is no library that the house knows: give it a home in import_rules.py"]
    if not any(fnmatch(str(where), home) for home in homes):
        return [f"{top} is imported only in {', '.join(homes)}"]
    return []


def _layer_breaches(where: PurePosixPath, module: str) -> list[str]:
    package, (top, *rest) = where.parts[0], module.split(".")
    if top not in {package, *LAYERS[package]}:
        return [f"{package} does not import {top}"]
    if is_pure(where) and (top not in {package, "fleet"} or not _is_pure_name([top, *rest])):
        return [f"a pure module imports fleet and pure siblings, not {module}"]
    return []


def _dynamic_imports(tree: ast.AST) -> list[tuple[int, str]]:
    # What is imported by a computed name is seen by no walk.
    return [
        (node.lineno, "a module is imported by name at run time, where no rule can see it")
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and re.search(r"(^|\.)(__import__|import_module)$", ast.unparse(node.func))
    ]


def _clock_readings(tree: ast.AST) -> list[tuple[int, str]]:
    found = set()
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Attribute(attr=name)) if name in READS_THE_CLOCK:
                found.add((node.lineno, name))
            case ast.Attribute(value=ast.Name(id="datetime" | "date"), attr=name) if name in READS_THE_CLOCK:
                found.add((node.lineno, name))
    return [
        (line, f"{name}() reads the clock, which is handed to a pure module as `now`") for line, name in found
    ]
