"""A view arrives at another replica as it was sent."""

from __future__ import annotations

import math
import sys
import types
import typing
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from enum import Enum

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fleet.errors import MalformedError
from mirrorwatch.service.view import GroupsView, MissingShard, ServiceView
from mirrorwatch.web.linking import PageLinks
from mirrorwatch.web.replicas import codec
from mirrorwatch.web.replicas.codec import ViewCodec
from tests.mirrorwatch import api_stage, views

CODEC = ViewCodec()
NAMES = codec._NAMES
TEXTS = st.text(st.characters(exclude_categories=()), max_size=4)  # lone surrogates too


def arrived(view):
    return CODEC.view(b"".join(CODEC.lines(view)))


def whole():
    """Return a view with every field of every kind."""
    view = api_stage.view()
    flows = tuple(
        replace(
            flow,
            bars=views.bars(),
            incident=views.incident(ended=False),
            recent=(views.incident(), views.incident(ended=False)),
            objectives=views.objectives(flow),
            threshold_s=math.inf,
        )
        for flow in view.flows
    )
    return replace(
        view,
        flows=flows,
        groups=GroupsView("All 3 groups are OK", views.Verdict.HEALTHY, ("A: a note",)),
        missing=(MissingShard("shard 2 of 3", "no replica", ("A->C",), 1.5),),
        outside=PageLinks("https://mw.example.org", grafana="https://g.example.org"),
    )


def test_a_whole_view_arrives_as_it_was():
    view = whole()
    assert arrived(view) == view
    (line, *rest) = CODEC.lines(view)
    assert len(rest) == len(view.flows)
    assert b"\n" not in line[:-1]


def of(kind):  # noqa: PLR0911 - one for each kind of type
    """Return a strategy for any value of a type of the view."""
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        return st.one_of(*map(of, inner))
    if origin is tuple and inner[1:] == (...,):
        return st.lists(of(inner[0]), max_size=2).map(tuple)
    if origin is tuple:
        return st.tuples(*map(of, inner))
    if origin is frozenset:
        return st.frozensets(of(inner[0]), max_size=2)
    if origin is Mapping:
        return st.dictionaries(of(inner[0]), of(inner[1]), max_size=2)
    if kind is float:
        return st.floats(allow_nan=False)
    if kind is str:
        return TEXTS
    if isinstance(kind, type) and issubclass(kind, Enum):
        return st.sampled_from(kind)
    if is_dataclass(kind) or hasattr(kind, "_fields"):
        hints = typing.get_type_hints(kind, vars(sys.modules[kind.__module__]), NAMES)
        names = [one.name for one in fields(kind)] if is_dataclass(kind) else kind._fields
        return st.builds(kind, **{name: st.deferred(lambda name=name: of(hints[name])) for name in names})
    return {int: st.integers(), bool: st.booleans(), type(None): st.none()}[kind]


@settings(
    max_examples=40, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large], deadline=None
)
@given(of(ServiceView))
def test_any_view_arrives_as_it_was(view):
    assert arrived(view) == view


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"", "not lines of JSON"),
        (b"\xff\xfe\x00", "not lines of JSON"),
        (b"[" * 100_000, "not lines of JSON"),
        (b"[]\n", "Field required"),
        (b'[{"version": "1"}]\n', "now_at"),
        (b"{}\n", "tuple"),
    ],
)
def test_what_is_no_view_is_malformed(body, said):
    with pytest.raises(MalformedError, match=said):
        CODEC.view(body)


def test_a_flow_that_is_none_is_malformed():
    line, *_ = CODEC.lines(views.service(views.flow()))
    with pytest.raises(MalformedError, match="source"):
        CODEC.view(line + b'[{"flow": "A->B"}]\n')


def test_fields_of_a_newer_version_are_ignored():
    view = views.service(views.flow())
    body = b"".join(CODEC.lines(view)).replace(b'{"version":', b'{"newer": [1], "version":')
    assert CODEC.view(body) == view
