"""A certificate for what is started for one run, signed by an authority that exists only for it."""

from __future__ import annotations

import datetime
import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bakeoff.provision.files import write_private

_VALID_DAYS = 30


@dataclass(frozen=True)
class Certificate:
    """PEM files."""

    authority: Path  # what clients are to trust
    certificate: Path
    key: Path


@dataclass(frozen=True)
class Pem:
    """The same as texts, in memory alone."""

    authority: str
    certificate: str
    key: str

    def __repr__(self) -> str:
        return "Pem(...)"  # never the key


_LOOPBACK = ("127.0.0.1",)


def make_certificate(folder: Path, addresses: Sequence[str] = _LOOPBACK) -> Certificate:
    """Files of one, unless there is one. addresses: of the hosts that it is for."""
    files = Certificate(folder / "ca.pem", folder / "server.pem", folder / "server.key")
    if not all(path.exists() for path in (files.authority, files.certificate, files.key)):
        pem = new_pem(addresses)
        write_private(files.authority, pem.authority, mode=0o644)
        write_private(files.certificate, pem.certificate, mode=0o644)
        write_private(files.key, pem.key, for_server=True)
    return files


def new_pem(addresses: Sequence[str] = _LOOPBACK) -> Pem:
    """For these and localhost; the authority's key is not kept, so nothing else can be signed with it."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import NameOID

    def name(text: str) -> x509.Name:
        return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])

    def unsigned(subject: str, key: ec.EllipticCurvePrivateKey) -> x509.CertificateBuilder:
        now = datetime.datetime.now(datetime.UTC)
        return (
            x509.CertificateBuilder()
            .subject_name(name(subject))
            .issuer_name(name("bakeoff certificate authority"))
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(hours=1))
            .not_valid_after(now + datetime.timedelta(days=_VALID_DAYS))
        )

    authority_key, server_key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    authority = (
        unsigned("bakeoff certificate authority", authority_key)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(authority_key, hashes.SHA256())
    )
    numbers = [x509.IPAddress(ipaddress.ip_address(address)) for address in addresses]
    places = [x509.DNSName("localhost"), *numbers]
    server = (
        unsigned("localhost", server_key)
        .add_extension(x509.SubjectAlternativeName(places), critical=False)
        .sign(authority_key, hashes.SHA256())
    )
    text = serialization.Encoding.PEM
    plain = (serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    return Pem(
        authority.public_bytes(text).decode(),
        server.public_bytes(text).decode(),
        server_key.private_bytes(text, *plain).decode(),
    )
