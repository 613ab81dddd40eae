"""The sections http and store: defaults, golden refusals, resolved paths."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest
from pydantic import BaseModel, ValidationError

from runtime.config import strict_yaml
from runtime.config.sections import HttpConfig, StoreConfig, address_of, problems_of
from runtime.store.leases import LEASES


class Both(BaseModel):
    http: HttpConfig = HttpConfig()
    store: StoreConfig = StoreConfig()


def told(text):
    document = strict_yaml.load(text, file="mw.yml")
    with pytest.raises(ValidationError) as refused:
        Both.model_validate(document.data)
    found = problems_of(refused.value, file="mw.yml", prefix="", line_of=document.line_of, model=Both)
    return [str(problem) for problem in found]


def test_the_defaults_are_those_of_the_interface():
    http, store = HttpConfig(), StoreConfig()
    assert (http.listen, http.insecure, http.reload, http.external_url) == (
        "127.0.0.1:9699",
        False,
        False,
        None,
    )
    assert (http.web_config_file, http.tokens.audit, http.tokens.operator) == (None, None, None)
    assert http.address == ("127.0.0.1", 9699)
    assert store.url.get_secret_value() == "sqlite:///mirrorwatch.db"
    assert store.replica == socket.gethostname()
    assert (store.keep.minutes, store.keep.syncs, store.keep.findings) == (
        400 * 86400,
        30 * 86400,
        400 * 86400,
    )


def test_a_full_section_is_read_and_frozen():
    data = {
        "listen": "0.0.0.0:80",
        "external_url": "https://mw.example.org/kafka/",
        "tokens": {"audit": "a1", "operator": "o1"},
        "web_config_file": "web.yml",
        "reload": "true",
    }
    http = HttpConfig.model_validate(data)
    assert http.external_url == "https://mw.example.org/kafka"
    assert http.web_config_path(Path("/etc/mw")) == Path("/etc/mw/web.yml")
    assert "a1" not in repr(http)
    with pytest.raises(ValidationError, match="frozen"):
        http.listen = "x"


GUARD = (
    "without TLS and users; set http.web_config_file, listen on 127.0.0.1, or set http.insecure: true if "
    "the network is trusted"
)


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("http: {listen: '0.0.0.0:9699'}", [f"http.listen: other machines can reach '0.0.0.0:9699' {GUARD}"]),
        ("http: {listen: ':9699'}", [f"http.listen: other machines can reach ':9699' {GUARD}"]),
        ("http: {listen: '[::]:9699'}", [f"http.listen: other machines can reach '[::]:9699' {GUARD}"]),
        ("http: {listen: 'mw.example.org:9699', insecure: 'false'}", [f"http.listen: other machines can reach 'mw.example.org:9699' {GUARD}"]),
        ("http: {listen: '9699'}", ["http.listen: invalid address '9699'; write HOST:PORT, for example 127.0.0.1:9699"]),
        ("http: {listen: 'x:70000'}", ["http.listen: invalid address 'x:70000'; write HOST:PORT, for example 127.0.0.1:9699"]),
        (
            "http: {listen: '0.0.0.0:1', lisen: x, insecure: maybe, tokens: {operater: x, audit: 'a b'}}",
            [
                "http.tokens.audit: invalid token; use visible ASCII characters without spaces",
                "http.tokens.operater: unknown key; did you mean 'operator'?",
                "http.insecure: must be true or false, not 'maybe'",
                "http.lisen: unknown key; did you mean 'listen'?",
            ],
        ),
        ("http: {web_config_file: ''}", ["http.web_config_file: must not be empty"]),
        (
            "http: {external_url: 'https://u:p@x/'}",
            ["http.external_url: invalid address; write for example https://mirrorwatch.example.org, without user, query or fragment"],
        ),
        ("store: {url: 'x'}", ["store.url: invalid database address; write sqlite:///FILE, for example sqlite:///mirrorwatch.db, or postgresql://USER:PASSWORD@HOST/DATABASE"]),
        ("store: {url: 'mysql://u:HUSH@h/d'}", ["store.url: unknown database 'mysql'; write sqlite:///FILE, for example sqlite:///mirrorwatch.db, or postgresql://USER:PASSWORD@HOST/DATABASE"]),
        ("store: {url: 'postgresql+psycopg2://u:HUSH@h/d'}", ["store.url: unknown driver 'postgresql+psycopg2'; write postgresql://"]),
        ("store: {url: 'postgresql://u:p@HUSH@h/d'}", ["store.url: must not contain a second '@'; write '@' in the password as %40"]),
        ("store: {url: 'postgresql://u:HUSH@h'}", ["store.url: missing database name; write postgresql://USER:PASSWORD@HOST/DATABASE"]),
        ("store: {url: 'postgresql://u:HUSH@h/d?port=abc'}", ["store.url: option 'port' must be a whole number"]),
        ("store: {url: 'postgresql://u:HUSH@h/d?connect_timeout=1s'}", ["store.url: option 'connect_timeout' must be a whole number"]),
        ('store: {url: "sqlite:///a\\0b.db"}', ["store.url: must not contain a NUL byte; write sqlite:///FILE, for example sqlite:///mirrorwatch.db, or postgresql://USER:PASSWORD@HOST/DATABASE"]),
        ("store: {keep: {findings: 999999999999d}}", ["store.keep.findings: must be at most 36500 d, not 999999999999 d"]),
        ("store: {url: 'sqlite://'}", ["store.url: missing file name; write sqlite:///FILE, for example sqlite:///mirrorwatch.db"]),
        ("store: {url: 'sqlite:///:memory:'}", ["store.url: missing file name; write sqlite:///FILE, for example sqlite:///mirrorwatch.db"]),
        ("store: {url: 'sqlite://var/mw.db'}", ["store.url: SQLite has neither host nor options; write sqlite:///FILE, with three slashes"]),
        ("store: {keep: {minutes: 400}}", ["store.keep.minutes: invalid duration '400'; write a number with ms, s, m, h or d, for example 5s"]),
        ("store: {keep: {syncs: 0d}, replica: ''}", ["store.replica: must not be empty", "store.keep.syncs: must be more than 0 s, not 0 s"]),
    ],
)  # fmt: skip
def test_refusals(text, sentences):
    assert told(text) == [f"mw.yml:1: {sentence}" for sentence in sentences]


@pytest.mark.parametrize("listen", ["127.0.0.1:0", "127.1.2.3:80", "localhost:80", "[::1]:80"])
def test_loopback_needs_no_guard(listen):
    assert HttpConfig.model_validate({"listen": listen}).address.is_loopback


def test_an_open_address_with_a_guard_or_on_purpose():
    assert HttpConfig.model_validate({"listen": ":1", "insecure": "true"}).address == address_of("0.0.0.0:1")
    assert HttpConfig.model_validate({"listen": "[::]:1", "web_config_file": "w"}).address == ("::", 1)


def test_an_address_is_written_as_it_is_read():
    for text in ("127.0.0.1:9699", "[::1]:0", "mw.example.org:65535"):
        assert str(address_of(text)) == text


def test_a_store_s_path_is_relative_to_the_configuration():
    def at(url):
        return StoreConfig.model_validate({"url": url}).database_url(Path("/etc/mw"))

    assert at("sqlite:///data/mw.db").database == "/etc/mw/data/mw.db"
    assert at("sqlite:////var/lib/mw.db").database == "/var/lib/mw.db"
    assert (
        at("postgresql+psycopg://u:p@h/d").render_as_string(hide_password=False)
        == "postgresql+psycopg://u:p@h/d"
    )


def test_a_group_leaves_room_for_the_number_of_a_shard():
    longest = StoreConfig.model_validate({"group": "g" * 190, "shards": 64})
    assert len(f"{longest.group}/{longest.shards}/{longest.shards}") <= LEASES.c.name.type.length
    assert "store.group" in told(f"store: {{group: {'g' * 191}}}")[0]
