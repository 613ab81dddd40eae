from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from cryptography import x509

from runtime.kafka.properties import stores
from runtime.kafka.properties.stores import Kind, StoreError, expires_at
from tests.runtime.kafka.authority import sign, trust_store

_GOLDEN = Path(__file__).parents[1] / "golden"
_PASSWORD = "changeit"  # of every store that keytool or openssl made for the golden folder
_CA = sign("ca", ca=True)
_MIDDLE = sign("middle", _CA, ca=True)
_CLIENT = sign("client", _MIDDLE)


def _golden(name: str) -> bytes:
    return (_GOLDEN / name).read_bytes()


def _trusted(data: bytes, password: str | None = None, path: str = "trust.p12") -> str:
    return stores.trusted_pem(data, path=path, password=password, password_key="ssl.truststore.password")


def _identity(data: bytes, store: str | None = None, key: str | None = None) -> stores.Identity:
    return stores.identity_pem(
        data, path="key.p12", store_password=store, key_password=key, password_key="ssl.keystore.password"
    )


def _key_only() -> bytes:
    return stores.pkcs12.serialize_key_and_certificates(b"k", _CA.key, None, None, stores.NoEncryption())


def _count(pem: str) -> int:
    return len(x509.load_pem_x509_certificates(pem.encode()))


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (_golden("keystore.jks"), Kind.JKS),
        (_golden("keystore.jceks"), Kind.JCEKS),
        (_golden("keytool-keystore.p12"), Kind.PKCS12),
        (_golden("keytool-truststore.p12"), Kind.PKCS12),
        (_golden("rc2-40-truststore.p12"), Kind.PKCS12),
        (_CA.pem.encode(), Kind.PEM),
        (b"Bag Attributes\n  friendlyName: 0x30\n" + _CA.pem.encode(), Kind.PEM),
        (b"0 is how this text starts\n" + _CA.pem.encode(), Kind.PEM),
        (_CA.certificate.public_bytes(stores.Encoding.DER), Kind.DER),
        (b"\x00\x00\x00\x02\x00\x00\x00\x14", Kind.BKS),
        (b"hello", Kind.UNKNOWN),
        (b"", Kind.UNKNOWN),
        (b"0", Kind.DER),
    ],
)
def test_bytes_tell_the_kind(data, kind):
    assert stores.kind_of(data) is kind


@pytest.mark.parametrize("name", ["keytool-truststore.p12", "rc2-40-truststore.p12"])
def test_reads_keytools_trust_stores(name):
    assert _count(_trusted(_golden(name), _PASSWORD)) == 1


@pytest.mark.parametrize("name", ["keytool-keystore.p12", "rc2-40-keystore.p12"])
def test_reads_key_stores_of_keytool_and_openssl(name):
    identity = _identity(_golden(name), _PASSWORD)
    assert stores.belongs_together(identity)
    assert "ENCRYPTED" not in identity.key_pem


@pytest.mark.parametrize(
    ("held", "lone"),
    [
        ([_CA], []),
        ([_CA, _MIDDLE, _CLIENT], []),
        ([_MIDDLE], ["CN=middle"]),
        ([_CLIENT], ["CN=client"]),
        ([_CLIENT, _MIDDLE], ["CN=middle"]),
        ([_CA, sign("ca", sign("older", ca=True), ca=True)], []),
    ],
)
def test_certificates_without_their_root(held, lone):
    assert stores.without_issuer(_trusted("".join(one.pem for one in held).encode())) == lone


@pytest.mark.parametrize("password", ["", "pä ss"])
def test_trust_store_with_and_without_password(password):
    other = sign("other", ca=True)
    assert _count(_trusted(trust_store(_CA, other, password=password), password or None)) == 2


def test_key_store_gives_the_chain_in_order_and_nothing_else():
    stranger = sign("stranger", ca=True)
    identity = _identity(_CLIENT.key_store("pw", issuers=(stranger, _CA, _MIDDLE)), "pw")
    chain = x509.load_pem_x509_certificates(identity.chain_pem.encode())
    assert chain == [_CLIENT.certificate, _MIDDLE.certificate, _CA.certificate]


def test_pem_key_store_with_encrypted_key():
    text = _CLIENT.key_pem("pw") + _CLIENT.pem + _MIDDLE.pem
    identity = _identity(text.encode(), None, "pw")
    assert _count(identity.chain_pem) == 2
    assert identity.key_pem == _CLIENT.key_pem()


def test_pem_on_one_line_as_java_takes_it():
    one_line = " ".join(_CA.pem.split("\n"))
    assert stores.certificates_pem(one_line, what="its value") == _CA.pem
    key = " ".join(_CLIENT.key_pem("pw").split("\n"))
    assert stores.private_key_pem(key, what="its value", password="pw") == _CLIENT.key_pem()


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (
            lambda: _trusted(trust_store(_CA, password="pw")),
            "is protected by a password: set ssl.truststore.password",
        ),
        (
            lambda: _trusted(trust_store(_CA, password="pw"), "no-pw"),
            "ssl.truststore.password does not open the PKCS12 store 'trust.p12': the password is wrong",
        ),
        (lambda: _trusted(trust_store(_CA, password="pw")[:200], "no-pw"), "is damaged or cut short"),
        (
            lambda: _trusted(_key_only()),
            "holds no certificate to trust: import the cluster's CA with `keytool",
        ),
        (lambda: _trusted(b"hello"), "'trust.p12' is neither PEM nor PKCS12"),
        (lambda: _trusted(_CLIENT.key_pem().encode()), "holds no PEM certificate"),
        (
            lambda: _trusted(_CA.pem.replace("M", "N", 5).encode()),
            "certificate number 1 in 'trust.p12' is damaged",
        ),
        (lambda: _trusted(_CA.certificate.public_bytes(stores.Encoding.DER)), "`openssl x509 -inform DER"),
        (
            lambda: _identity(trust_store(_CA, password="no-pw"), "no-pw"),
            "holds no private key with its certificate",
        ),
        (lambda: _identity(_CLIENT.pem.encode()), "holds no PEM private key"),
        (
            lambda: _identity((_CLIENT.pem + _CLIENT.key_pem("x")).encode()),
            "is encrypted: set ssl.key.password",
        ),
        (
            lambda: _identity((_CLIENT.pem + _CLIENT.key_pem("x")).encode(), None, "no-pw"),
            "ssl.key.password is wrong, or the key is damaged",
        ),
        (
            lambda: _trusted(_golden("rc2-40-truststore.p12"), "no-pw"),
            "or its old RC2 encryption cannot be read on this machine; rewrite it with `keytool -importkeystore",
        ),
        (lambda: _identity(_golden("keystore.jks")), "is a JKS store"),
        (lambda: _identity(_golden("keystore.jceks")), "-srcstoretype JCEKS"),
        (lambda: _identity(b"\x00\x00\x00\x02\x00"), "BKS store of Bouncy Castle"),
    ],
)
def test_each_fault_has_its_own_sentence(call, said):
    with pytest.raises(StoreError) as caught:
        call()
    assert said in str(caught.value)
    assert "no-pw" not in str(caught.value)


def test_the_keytool_line_is_quoted_for_the_shell():
    path = "/etc/my stores/a$(id)'s.jks"
    with pytest.raises(StoreError) as caught:
        _trusted(_golden("keystore.jks"), _PASSWORD, path)
    line = str(caught.value).split("`")[1]
    words = shlex.split(line)
    assert words[words.index("-srckeystore") + 1] == path
    assert words[words.index("-destkeystore") + 1] == path.removesuffix("jks") + "p12"
    assert _PASSWORD not in line


def test_a_certificate_of_another_key_is_noticed():
    identity = stores.Identity(chain_pem=_CLIENT.pem, key_pem=_MIDDLE.key_pem())
    assert not stores.belongs_together(identity)
    assert "PRIVATE" not in repr(identity)


def test_a_chain_expires_with_the_first_of_its_certificates():
    chain = _CLIENT.pem + _MIDDLE.pem
    ends = [one.certificate.not_valid_after_utc.timestamp() for one in (_CLIENT, _MIDDLE)]
    assert expires_at(chain) == min(ends)
