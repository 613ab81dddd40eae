"""Certificates and SCRAM users for a secured broker of the local stack."""

from __future__ import annotations

import datetime as dt
import ipaddress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Security:
    """A listener with TLS and SCRAM-SHA-512: `users` are names with their passwords.

    With `authorizer`, only `super_users` may do everything; the others need ACLs.
    """

    users: Mapping[str, str] = field(repr=False)
    super_users: tuple[str, ...]
    authorizer: bool = True


@dataclass(frozen=True, slots=True)
class Certificates:
    """PEM files of one broker: the authority to trust, and the server's key with its chain."""

    authority: Path
    server: Path


def make_certificates(folder: Path) -> Certificates:
    """Make an authority and a server certificate for localhost and 127.0.0.1, valid for 30 days."""
    authority_key, server_key = (
        ec.generate_private_key(ec.SECP256R1()),
        ec.generate_private_key(ec.SECP256R1()),
    )
    authority_name, server_name = _name("Local stack authority"), _name("localhost")
    authority = (
        _builder(authority_name, authority_name, authority_key.public_key())
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(authority_key.public_key()), critical=False)
        .sign(authority_key, hashes.SHA256())
    )
    addresses = [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
    server = (
        _builder(server_name, authority_name, server_key.public_key())
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName(addresses), critical=False)
        .sign(authority_key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    made = Certificates(folder / "authority.pem", folder / "server.pem")
    made.authority.write_bytes(authority.public_bytes(pem))
    made.server.touch(mode=0o600)
    key = server_key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    made.server.write_bytes(key + server.public_bytes(pem) + authority.public_bytes(pem))
    return made


def _name(common_name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey
) -> x509.CertificateBuilder:
    now = dt.datetime.now(dt.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(hours=1))
        .not_valid_after(now + dt.timedelta(days=30))
    )


def jaas_line(user: str, password: str) -> str:
    """Return the value of sasl.jaas.config for a SCRAM user."""
    quoted = password.replace("\\", "\\\\").replace('"', '\\"')
    return (
        "org.apache.kafka.common.security.scram.ScramLoginModule required "
        f'username="{user}" password="{quoted}";'
    )


def listener_properties(security: Security, certificates: Certificates, listener: str) -> dict[str, str]:
    """Return the server properties that secure `listener` and, if asked, switch the authorizer on."""
    prefix = f"listener.name.{listener.lower()}."
    properties = {
        "sasl.enabled.mechanisms": "SCRAM-SHA-512",
        f"{prefix}sasl.enabled.mechanisms": "SCRAM-SHA-512",
        f"{prefix}scram-sha-512.sasl.jaas.config": (
            "org.apache.kafka.common.security.scram.ScramLoginModule required;"
        ),
        f"{prefix}ssl.keystore.type": "PEM",
        f"{prefix}ssl.keystore.location": str(certificates.server),
    }
    if security.authorizer:
        # The broker speaks to itself and to its controller on plain loopback listeners, as ANONYMOUS.
        supers = ";".join(f"User:{user}" for user in (*security.super_users, "ANONYMOUS"))
        properties["authorizer.class.name"] = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
        properties["super.users"] = supers
    return properties
