"""The proxy between a mirror and its source passes bytes, holds them back, resets connections, and heals."""

from __future__ import annotations

import socket
import threading
import time

import pytest

from deploy.local.ports import free_port
from deploy.local.process import python_process
from tests.eventually import eventually


@pytest.fixture
def echo():
    """Give the port of a server that sends back what it gets."""
    with socket.create_server(("127.0.0.1", free_port())) as server:

        def serve():
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                threading.Thread(target=answer, args=(connection,), daemon=True).start()

        def answer(connection):
            with connection:
                try:
                    while data := connection.recv(65536):
                        connection.sendall(data)
                except OSError:
                    return

        threading.Thread(target=serve, daemon=True).start()
        yield server.getsockname()[1]
        server.shutdown(socket.SHUT_RDWR)


@pytest.fixture
def proxied(echo, tmp_path):
    port, order = free_port(), tmp_path / "order"
    process = python_process("proxy", "deploy.local.proxy", str(port), str(echo), str(order), folder=tmp_path)
    process.start()
    eventually(lambda: reaches(port), 10, what="the proxy")
    yield port, order
    process.kill()
    assert "Traceback" not in process.logged()


def connect(port):
    return socket.create_connection(("127.0.0.1", port), timeout=5)


def reaches(port):
    try:
        with connect(port) as client:
            client.sendall(b"ping")
            return client.recv(10) == b"ping"
    except OSError:
        return False


def read(client, count):
    data = b""
    while len(data) < count:
        data += client.recv(65536)
    return data


def test_it_passes_delays_resets_and_heals(proxied):
    port, order = proxied
    payload = bytes(range(256)) * 4000
    with connect(port) as client:
        threading.Thread(target=client.sendall, args=(payload,), daemon=True).start()
        assert read(client, len(payload)) == payload
        order.write_text("delay 0.4")
        time.sleep(0.3)  # until it was seen
        began = time.monotonic()
        client.sendall(b"late")
        assert read(client, 4) == b"late"
        assert time.monotonic() - began >= 0.75
        order.write_text("reset")
        with pytest.raises(OSError, match="reset"):
            client.recv(10)
    assert not reaches(port)
    order.write_text("pass")
    eventually(lambda: reaches(port), 10, what="the proxy, healed")
