from __future__ import annotations

import ctypes
import re
from pathlib import Path

import confluent_kafka
import pytest

from runtime.kafka.properties.ciphers import openssl_name
from runtime.kafka.properties.fate import Fate
from runtime.kafka.properties.java_clients import JAVA_KEYS
from runtime.kafka.properties.native_keys import NATIVE_KEYS
from runtime.kafka.properties.reference import markdown

_GOLDEN = Path(__file__).parent / "golden"
_ROOT = Path(__file__).parents[3]


def _java_names(version: str) -> set[str]:
    """Names from ProducerConfig, ConsumerConfig and AdminClientConfig.configNames() of kafka-clients."""
    lines = (_GOLDEN / f"kafka-clients-{version}.txt").read_text(encoding="utf-8").splitlines()
    assert {line.split()[0] for line in lines} == {"producer", "consumer", "admin"}
    return {line.split()[1] for line in lines}


def _native_names(folder: Path) -> set[str]:
    """Ask the very library that confluent_kafka loads for its properties."""
    package = Path(confluent_kafka.__file__).parent
    (path,) = [*package.parent.glob("confluent_kafka.libs/librdkafka*.so*"), *package.glob("librdkafka*.so*")]
    library, c = ctypes.CDLL(str(path)), ctypes.CDLL(None)
    c.fopen.restype = ctypes.c_void_p
    c.fclose.argtypes = library.rd_kafka_conf_properties_show.argtypes = [ctypes.c_void_p]
    out = folder / "properties.md"
    file = c.fopen(str(out).encode(), b"w")
    library.rd_kafka_conf_properties_show(file)
    c.fclose(file)
    return set(re.findall(r"^([a-z_.]+) +\| +[CP*] ", out.read_text(encoding="utf-8"), re.MULTILINE))


@pytest.mark.parametrize("version", ["4.3.0", "3.9.1"])
def test_no_key_of_the_java_clients_is_missing(version):
    assert _java_names(version) - set(JAVA_KEYS) == set()


def test_no_key_is_invented():
    assert set(JAVA_KEYS) == _java_names("4.3.0") | _java_names("3.9.1")


def test_native_keys_are_those_of_the_installed_library(tmp_path):
    names = _native_names(tmp_path)
    assert len(names) > 150
    assert set(NATIVE_KEYS) == names - set(JAVA_KEYS)
    known = names | set(NATIVE_KEYS)
    becomes = {key.becomes for key in (*JAVA_KEYS.values(), *NATIVE_KEYS.values()) if key.becomes}
    assert becomes - known == set()


@pytest.mark.parametrize("key", [*JAVA_KEYS.values(), *NATIVE_KEYS.values()], ids=lambda key: key.name)
def test_every_key_has_its_reason(key):
    assert key.sentence or (key.fate is Fate.TRANSLATED and key.becomes)


def test_the_reference_is_in_step_with_the_tables():
    written = (_ROOT / "docs" / "reference" / "client-properties.md").read_text(encoding="utf-8")
    assert written == markdown(), (
        "write docs/reference/client-properties.md anew from runtime.kafka.properties.reference.markdown()"
    )


def test_cipher_names_are_openssls():
    # `openssl ciphers -stdname ALL:COMPLEMENTOFALL` of OpenSSL 3.0: IANA's name and OpenSSL's.
    lines = (_GOLDEN / "openssl-cipher-names.txt").read_text(encoding="utf-8").splitlines()
    compared = 0
    for standard, name in (line.split() for line in lines):
        try:
            found = openssl_name(standard)
        except ValueError:
            assert re.search("PSK|anon|NULL|SRP|ARIA", standard), standard
            continue
        assert found == (None if name.startswith("TLS_") else name)
        compared += 1
    assert compared > 40


def test_cipher_names_in_openssl_spelling_stay():
    assert openssl_name("ECDHE-RSA-AES128-GCM-SHA256") == "ECDHE-RSA-AES128-GCM-SHA256"
    assert openssl_name("HIGH:!aNULL") == "HIGH:!aNULL"
