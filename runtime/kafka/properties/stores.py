"""Read trust stores and key stores: PEM and PKCS12, detected from their bytes and not by their names.

What comes out is PEM in memory, which librdkafka takes as `ssl.ca.pem`, `ssl.certificate.pem` and
`ssl.key.pem`: it can read a PKCS12 file as a key store only, and never one from memory. PKCS12 in the old
RC2-40 encryption, which plain OpenSSL 3 refuses, is read as well, since `cryptography` brings the algorithm.
JKS, JCEKS and BKS have no well-kept reader outside Java: they are refused with the keytool line that
converts them. No sentence raised here holds a password.
"""

from __future__ import annotations

import base64
import binascii
import re
import shlex
from dataclasses import dataclass, field
from enum import Enum
from pathlib import PurePath
from typing import Final

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
    pkcs12,
)

_CERTIFICATE: Final = re.compile(
    r"-+BEGIN (?:X509 |TRUSTED )?CERTIFICATE-+([A-Za-z0-9/+=\s]+)-+END (?:X509 |TRUSTED )?CERTIFICATE-+"
)
# pbeWithSHA1And128BitRC2-CBC and pbeWithSHA1And40BitRC2-CBC (RFC 7292, appendix C).
_RC2: Final = re.compile(rb"\x06\x0a\x2a\x86\x48\x86\xf7\x0d\x01\x0c\x01[\x05\x06]")
_KEY: Final = re.compile(r"-+BEGIN ((?:[A-Z]+ )?PRIVATE KEY)-+([^-]+)-+END \1-+")


class StoreError(ValueError):
    """What is wrong with a store and what to do, as a sentence without its secret."""


class Kind(Enum):
    """What the bytes of a store are."""

    PEM = "PEM"
    PKCS12 = "PKCS12"
    JKS = "JKS"
    JCEKS = "JCEKS"
    BKS = "BKS"
    DER = "DER"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Identity:
    """A client's certificate, its chain first to last, and its private key; all PEM, the key unencrypted."""

    chain_pem: str
    key_pem: str = field(repr=False)


def kind_of(data: bytes) -> Kind:
    """Return the kind of a store by its first bytes."""
    if re.search(rb"-----BEGIN [A-Z0-9 ]+-----", data):
        return Kind.PEM
    match data[:4]:
        case b"\xfe\xed\xfe\xed":
            return Kind.JKS
        case b"\xce\xce\xce\xce":
            return Kind.JCEKS
        case b"\x00\x00\x00\x01" | b"\x00\x00\x00\x02":
            return Kind.BKS
    if data[:1] == b"\x30":
        # PKCS12 is a SEQUENCE that starts with the INTEGER 3 (RFC 7292, PFX); a certificate or a BCFKS store
        # starts with another SEQUENCE.
        return Kind.PKCS12 if _content(data)[:3] == b"\x02\x01\x03" else Kind.DER
    return Kind.UNKNOWN


def trusted_pem(data: bytes, *, path: str, password: str | None, password_key: str) -> str:
    """Return the certificates of a trust store as PEM, or raise StoreError.

    `path` and `password_key` only appear in sentences.
    """
    match kind_of(data):
        case Kind.PEM:
            return certificates_pem(data.decode("latin-1"), what=f"'{path}'")
        case Kind.PKCS12:
            store = _pkcs12(data, path=path, password=password, password_key=password_key)
            found = [entry.certificate for entry in store.additional_certs]
            if store.cert is not None:
                found.insert(0, store.cert.certificate)
            if not found:
                raise StoreError(
                    f"the PKCS12 store '{path}' holds no certificate to trust: import the cluster's CA with "
                    f"`keytool -importcert -keystore {shlex.quote(path)} -alias ca -file ca.pem`"
                )
            return "".join(_pem(certificate) for certificate in found)
        case kind:
            raise StoreError(_refusal(kind, path))


def identity_pem(
    data: bytes, *, path: str, store_password: str | None, key_password: str | None, password_key: str
) -> Identity:
    """Return the client certificate and key of a key store, or raise StoreError.

    A PKCS12 store has one password for both, `store_password`; a PEM file only one for its key,
    `key_password`.
    """
    match kind_of(data):
        case Kind.PEM:
            text = data.decode("latin-1")
            what = f"'{path}'"
            return Identity(
                chain_pem=certificates_pem(text, what=what),
                key_pem=private_key_pem(text, what=what, password=key_password),
            )
        case Kind.PKCS12:
            store = _pkcs12(data, path=path, password=store_password, password_key=password_key)
            if store.key is None or store.cert is None:
                raise StoreError(
                    f"the PKCS12 store '{path}' holds no private key with its certificate: it looks like a "
                    "trust store; name the client's key store here"
                )
            key = store.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
            chain = [store.cert.certificate, *_issuers(store)]
            return Identity(chain_pem="".join(_pem(entry) for entry in chain), key_pem=key.decode("ascii"))
        case kind:
            raise StoreError(_refusal(kind, path))


def certificates_pem(text: str, *, what: str) -> str:
    """Return the certificates in PEM text, line breaks set right; Java also takes PEM written on one line.

    Raises StoreError where there is none, or one that cannot be read.
    """
    found = []
    for number, match in enumerate(_CERTIFICATE.finditer(text), start=1):
        try:
            found.append(
                x509.load_der_x509_certificate(base64.b64decode("".join(match[1].split()), validate=True))
            )
        except (ValueError, binascii.Error) as error:
            raise StoreError(
                f"certificate number {number} in {what} is damaged: export it again as PEM"
            ) from error
    if not found:
        raise StoreError(f"{what} holds no PEM certificate (-----BEGIN CERTIFICATE-----)")
    return "".join(_pem(certificate) for certificate in found)


def without_issuer(pem: str) -> list[str]:
    """Return the subjects of certificates that OpenSSL trusts only with their issuer, which is missing.

    Java takes any certificate of a trust store for an anchor, OpenSSL only one that issued itself.
    """
    found = x509.load_pem_x509_certificates(pem.encode("ascii"))
    roots = {one.subject for one in found if one.issuer == one.subject}
    held = {one.subject for one in found}
    # A root may be there a second time, signed by another one.
    lone = (one for one in found if one.issuer not in held and one.subject not in roots)
    return list(dict.fromkeys(one.subject.rfc4514_string() for one in lone))


def expires_at(chain_pem: str) -> float:
    """Return when the first certificate of PEM text expires (epoch s)."""
    found = x509.load_pem_x509_certificates(chain_pem.encode("ascii"))
    return min(one.not_valid_after_utc.timestamp() for one in found)


def private_key_pem(text: str, *, what: str, password: str | None) -> str:
    """Return the first private key in PEM text as unencrypted PKCS8, or raise StoreError."""
    match = _KEY.search(text)
    if match is None:
        raise StoreError(f"{what} holds no PEM private key (-----BEGIN PRIVATE KEY-----)")
    body = match[2].strip()
    if ":" not in body:  # Encryption headers of the old OpenSSL form need their own lines.
        body = "\n".join(re.findall(".{1,64}", "".join(body.split())))
    pem = f"-----BEGIN {match[1]}-----\n{body}\n-----END {match[1]}-----\n".encode("latin-1")
    encrypted = match[1].startswith("ENCRYPTED") or "ENCRYPTED" in body
    try:
        key = load_pem_private_key(pem, password.encode() if encrypted and password else None)
    except TypeError as error:
        raise StoreError(f"the private key in {what} is encrypted: set ssl.key.password") from error
    except UnsupportedAlgorithm as error:
        raise StoreError(
            f"the private key in {what} is of a kind or in an encryption that is not supported: rewrite it "
            "with `openssl pkcs8 -topk8 -v2 aes256`"
        ) from error
    except ValueError as error:
        wrong = "ssl.key.password is wrong, or the key is damaged" if encrypted else "the key is damaged"
        raise StoreError(f"the private key in {what} cannot be read: {wrong}") from error
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode("ascii")


def belongs_together(identity: Identity) -> bool:
    """Return whether the first certificate belongs to the private key."""
    certificate = x509.load_pem_x509_certificate(identity.chain_pem.encode())
    key = load_pem_private_key(identity.key_pem.encode(), None)
    form = (Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return certificate.public_key().public_bytes(*form) == key.public_key().public_bytes(*form)


def _pkcs12(
    data: bytes, *, path: str, password: str | None, password_key: str
) -> pkcs12.PKCS12KeyAndCertificates:
    # A store without a password may have been written with none or with an empty one.
    candidates = [password.encode()] if password else [None, b""]
    reason: Exception | None = None
    for candidate in candidates:
        try:
            return pkcs12.load_pkcs12(data, candidate)
        except UnsupportedAlgorithm as error:
            raise StoreError(_rewrite(path)) from error
        except ValueError as error:
            reason = error
    text = str(reason).lower()
    if "deserialize" in text:
        raise StoreError(f"the PKCS12 store '{path}' is damaged or cut short: export it again") from reason
    if "unsupported" in text:
        raise StoreError(_rewrite(path)) from reason
    if password:
        wrong = f"{password_key} does not open the PKCS12 store '{path}': the password is wrong"
        if _RC2.search(data):
            # Where `cryptography` runs without OpenSSL's legacy provider, both look the same.
            wrong += f", or its old RC2 encryption cannot be read on this machine; {_rewriting(path)}"
        raise StoreError(wrong) from reason
    raise StoreError(f"the PKCS12 store '{path}' is protected by a password: set {password_key}") from reason


def _issuers(store: pkcs12.PKCS12KeyAndCertificates) -> list[x509.Certificate]:
    """Return the chain above the client's certificate, in order, without what does not belong to it."""
    assert store.cert is not None
    by_subject = {entry.certificate.subject: entry.certificate for entry in store.additional_certs}
    chain: list[x509.Certificate] = []
    current = store.cert.certificate
    while current.issuer != current.subject and current.issuer in by_subject and len(chain) < len(by_subject):
        current = by_subject[current.issuer]
        chain.append(current)
    return chain


def _pem(certificate: x509.Certificate) -> str:
    return certificate.public_bytes(Encoding.PEM).decode("ascii")


def _content(data: bytes) -> bytes:
    # What follows the tag and the length of the outer DER or BER element.
    length = data[1] if len(data) > 1 else 0
    return data[2 + (length & 0x7F) :][:3] if length & 0x80 else data[2:5]


def _refusal(kind: Kind, path: str) -> str:
    target = str(PurePath(path).with_suffix(".p12"))
    if target == path:
        target = path + ".new"
    match kind:
        case Kind.JKS | Kind.JCEKS:
            return (
                f"'{path}' is a {kind.value} store, which only Java can read: convert it with `keytool "
                f"-importkeystore -srckeystore {shlex.quote(path)} -srcstoretype {kind.value} -destkeystore "
                f"{shlex.quote(target)} -deststoretype PKCS12` (it asks for the passwords) and name "
                f"'{target}' here"
            )
        case Kind.BKS:
            return (
                f"'{path}' looks like a BKS store of Bouncy Castle, which only Java can read: convert it "
                f"with `keytool -importkeystore -srckeystore {shlex.quote(path)} -srcstoretype BKS -provider "
                "org.bouncycastle.jce.provider.BouncyCastleProvider -providerpath bcprov.jar -destkeystore "
                f"{shlex.quote(target)} -deststoretype PKCS12` and name '{target}' here"
            )
        case Kind.DER:
            pem = shlex.quote(str(PurePath(path).with_suffix(".pem")))
            return (
                f"'{path}' is neither PEM nor PKCS12 but some other DER file; if it is a certificate, "
                f"convert it with `openssl x509 -inform DER -in {shlex.quote(path)} -out {pem}`"
            )
        case _:
            return f"'{path}' is neither PEM nor PKCS12: name a store in one of these forms"


def _rewrite(path: str) -> str:
    return f"the PKCS12 store '{path}' is encrypted in a way that is not supported: {_rewriting(path)}"


def _rewriting(path: str) -> str:
    target = str(PurePath(path).with_suffix("")) + "-new.p12"
    return (
        f"rewrite it with `keytool -importkeystore -srckeystore {shlex.quote(path)} -srcstoretype PKCS12 "
        f"-destkeystore {shlex.quote(target)} -deststoretype PKCS12` and name '{target}' here"
    )
