"""Stores of tests in either kind of database: a file of its own, or a database on one server for the run."""

from __future__ import annotations

from contextlib import contextmanager
from itertools import count

import pytest

from deploy.local.cut import Cut
from runtime.store.address import resolve_address

DATABASES = ("sqlite", pytest.param("postgresql", marks=pytest.mark.real))
_numbers = count()


def address_of(request, folder):
    """Return the address of an empty database of the kind that the fixture's parameter names."""
    url = (
        "sqlite:///mw.db"
        if request.param == "sqlite"
        else new_database(request.getfixturevalue("postgresql"))
    )
    return resolve_address(url, folder)


def new_database(server):
    """Make an empty database on the server and return its address."""
    name = f"mw{next(_numbers)}"
    server.say(f"create database {name}")
    return server.url(name)


@contextmanager
def behind_a_proxy(url, folder):
    """Give the way to a database: its address `url`; `hold` keeps its bytes in silence until `let_pass`."""
    cut = Cut("database", url, folder / "proxy")
    cut.process.start()
    try:
        yield cut
    finally:
        cut.process.kill()
