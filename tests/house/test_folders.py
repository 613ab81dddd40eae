"""The folders of the house: none is crowded, each package lists its modules, and imports run one way."""

from __future__ import annotations

import ast
import re
from pathlib import PurePosixPath

import pytest

from tests.house.import_rules import LAYERS, imports
from tests.house.product_files import ROOT, product_files, relative

FILES = {relative(path): path for path in product_files(set(LAYERS))}
PACKAGES = sorted(name.removesuffix("/__init__.py") for name in FILES if name.endswith("/__init__.py"))
MOST_MODULES = 20


def files_of(package):
    return [one.stem for one in (ROOT / package).glob("*.py") if not one.stem.startswith("__")]


def modules_of(package):
    return files_of(package) + [one.parent.name for one in (ROOT / package).glob("*/__init__.py")]


@pytest.mark.parametrize("package", PACKAGES)
def test_a_folder_has_few_modules(package):
    assert len(files_of(package)) <= MOST_MODULES, "make a subpackage of what belongs together"


@pytest.mark.parametrize("package", PACKAGES)
def test_the_docstring_of_a_package_lists_its_modules(package):
    documented = (
        ast.get_docstring(ast.parse(FILES[f"{package}/__init__.py"].read_text(encoding="utf-8"))) or ""
    )
    words = set(re.findall(r"\w+", documented))
    assert [name for name in modules_of(package) if name not in words] == []


def test_imports_have_no_circle():
    assert circles(graph()) == []


def test_a_circle_is_seen():
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}) == [{"a", "b", "c"}]


def graph():
    """Return each file of the product with those that it imports, for type checking too."""
    found = {}
    for name, path in FILES.items():
        tree = ast.parse(path.read_text(encoding="utf-8"))
        targets = (module_file(dotted) for _, dotted in imports(PurePosixPath(name), tree))
        found[name] = {one for one in targets if one is not None and one != name}
    return found


def module_file(dotted):
    """Return the file that an import reads: that of the module, or of the module that the name is in."""
    parts = dotted.split(".")
    for count in (len(parts), len(parts) - 1):
        path = "/".join(parts[:count])
        if f"{path}.py" in FILES:
            return f"{path}.py"
    return None


def circles(edges):
    """Return the sets of nodes from each of which every other of its set is reached."""
    reached = {node: reach(edges, node) for node in edges}
    found = {
        frozenset(other for other in there if node in reached.get(other, ()))
        for node, there in reached.items()
    }
    return sorted((set(one) for one in found if len(one) > 1), key=sorted)


def reach(edges, start):
    seen, waiting = set(), [start]
    while waiting:
        for other in edges.get(waiting.pop(), ()):
            if other not in seen:
                seen.add(other)
                waiting.append(other)
    return seen
