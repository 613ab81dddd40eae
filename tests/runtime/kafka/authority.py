"""Certificates and stores for the tests: a CA, an intermediate, what they sign, in PEM and PKCS12."""

from __future__ import annotations

import datetime as dt
import ipaddress
from dataclasses import dataclass

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    KeySerializationEncryption,
    NoEncryption,
    PrivateFormat,
    pkcs12,
)
from cryptography.x509.oid import NameOID


@dataclass(frozen=True)
class Signed:
    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey

    @property
    def pem(self) -> str:
        return self.certificate.public_bytes(Encoding.PEM).decode()

    def key_pem(self, password: str = "") -> str:
        return self.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, _encryption(password)).decode()

    def key_store(self, password: str = "", *, issuers: tuple[Signed, ...] = ()) -> bytes:
        chain = [issuer.certificate for issuer in issuers]
        return pkcs12.serialize_key_and_certificates(
            b"client", self.key, self.certificate, chain, _encryption(password)
        )


def trust_store(*authorities: Signed, password: str = "") -> bytes:
    return pkcs12.serialize_key_and_certificates(
        b"ca", None, None, [authority.certificate for authority in authorities], _encryption(password)
    )


def sign(name: str, issuer: Signed | None = None, *, ca: bool = False, hosts: tuple[str, ...] = ()) -> Signed:
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = dt.datetime.now(dt.UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer.certificate.subject if issuer else subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(hours=1))
        .not_valid_after(now + dt.timedelta(days=2))
        .add_extension(x509.BasicConstraints(ca=ca, path_length=None), critical=True)
    )
    if hosts:
        names = [
            x509.IPAddress(ipaddress.ip_address(host)) if host[0].isdigit() else x509.DNSName(host)
            for host in hosts
        ]
        builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
    return Signed(builder.sign(issuer.key if issuer else key, hashes.SHA256()), key)


def _encryption(password: str) -> KeySerializationEncryption:
    return BestAvailableEncryption(password.encode()) if password else NoEncryption()
