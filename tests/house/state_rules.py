"""The rule that no module keeps state: what a module binds when it is imported stays as it is.

Constants may be dicts, lists and sets where their name says so (upper case) and nothing changes them.
"""

from __future__ import annotations

import ast
import re

CONSTANT = re.compile(r"_{0,2}[A-Z][A-Z0-9_]*")
TYPE_NAME = re.compile(r"_?[A-Z][A-Za-z0-9]*")

# Made to be changed: under no name is one of these a constant.
MADE_TO_CHANGE = {
    "CollectorRegistry",
    "Condition",
    "ContextVar",
    "Counter",
    "Event",
    "Lock",
    "OrderedDict",
    "Queue",
    "RLock",
    "Semaphore",
    "SimpleQueue",
    "WeakKeyDictionary",
    "WeakValueDictionary",
    "bytearray",
    "count",
    "cycle",
    "defaultdict",
    "deque",
}
# Filled while its module is imported and only read afterwards: SQLAlchemy's list of a module's tables.
FILLED_AT_IMPORT = {"MetaData"}

CHANGING_METHODS = {
    "add",
    "append",
    "clear",
    "discard",
    "extend",
    "pop",
    "popitem",
    "remove",
    "reverse",
    "setdefault",
    "sort",
}
# Without an argument these are SQLAlchemy's: TABLE.insert() makes a statement and changes nothing.
CHANGING_WITH_ARGUMENTS = {"insert", "update"}
CONTAINERS = (ast.List, ast.Dict, ast.Set, ast.ListComp, ast.DictComp, ast.SetComp)


def state_breaches(path: str, source: str) -> list[str]:
    """Return a sentence with a line for each place where a module keeps or changes state of its own."""
    tree = ast.parse(source, path)
    found = [*_bindings(tree), *_changes(tree)]
    return [f"{path}:{line}: {sentence}" for line, sentence in sorted(found)]


def _bindings(tree: ast.Module) -> list[tuple[int, str]]:
    found = []
    for node in _statements(tree.body):
        match node:
            case ast.Assign(targets=targets, value=value):
                names = [
                    name.id for target in targets for name in ast.walk(target) if isinstance(name, ast.Name)
                ]
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                names = [name]
            case _:
                continue
        found += [(node.lineno, sentence) for name in names for sentence in _binding_breaches(name, value)]
    return found


def _statements(body: list[ast.stmt]) -> list[ast.stmt]:
    """Return a module's statements, with those inside its conditions, loops, `try` and `with`."""
    found = []
    for node in body:
        found.append(node)
        for field in ("body", "orelse", "finalbody"):
            if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                found += _statements(getattr(node, field, []))
        for handler in getattr(node, "handlers", []):
            found += _statements(handler.body)
    return found


def _binding_breaches(name: str, value: ast.expr) -> list[str]:
    if name.startswith("__") and name.endswith("__"):
        return []
    made_by = ast.unparse(value.func).split(".")[-1] if isinstance(value, ast.Call) else ""
    if made_by in MADE_TO_CHANGE:
        return [f"{name} is a {made_by}, which is state of the module"]
    named_as_fixed = CONSTANT.fullmatch(name) or TYPE_NAME.fullmatch(name)
    if made_by not in FILLED_AT_IMPORT and not named_as_fixed and isinstance(value, (*CONTAINERS, ast.Call)):
        return [f"{name} looks like state of the module: a constant is written in upper case"]
    return []


def _changes(tree: ast.Module) -> list[tuple[int, str]]:
    found = []
    for node in ast.walk(tree):
        match node:
            case ast.Global(names=names):
                found.append((node.lineno, f"global {', '.join(names)} makes state of the module"))
            case ast.Subscript(value=value, ctx=ast.Store() | ast.Del()) if _is_constant(value):
                found.append((node.lineno, f"{ast.unparse(value)} is a constant and changed here"))
            case ast.AugAssign(target=target) if _is_constant(target):
                found.append((node.lineno, f"{ast.unparse(target)} is a constant and changed here"))
            case ast.Call(func=ast.Attribute(value=value)) if _changes_its_object(node) and _is_constant(
                value
            ):
                found.append((node.lineno, f"{ast.unparse(value)} is a constant and changed here"))
    return found


def _changes_its_object(call: ast.Call) -> bool:
    match call.func:
        case ast.Attribute(attr=method) if method in CHANGING_WITH_ARGUMENTS:
            return bool(call.args or call.keywords)
        case ast.Attribute(attr=method):
            return method in CHANGING_METHODS
        case _:
            return False


def _is_constant(node: ast.expr) -> bool:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return CONSTANT.fullmatch(name) is not None
        case _:
            return False
