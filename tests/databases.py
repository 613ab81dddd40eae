"""Stores of tests in either kind of database: a file of its own, or a database on one server for the run."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from itertools import count
from types import SimpleNamespace

import pytest

from deploy.local.ports import free_port
from deploy.local.process import Process
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
    """Give the address of a database behind a proxy; `hold` keeps its bytes in silence until `let_pass`."""
    port, order = free_port(), folder / "order"
    address, _, database = url.rpartition("/")
    host, _, own_port = address.rpartition(":")
    command = [sys.executable, "-m", "deploy.local.proxy", str(port), own_port, str(order)]
    proxy = Process("proxy", command, folder=folder / "proxy")
    proxy.start()
    try:
        yield SimpleNamespace(
            url=f"{host}:{port}/{database}",
            hold=lambda: order.write_text("delay 3600"),
            let_pass=order.unlink,
        )
    finally:
        proxy.kill()
