"""`bakeoff serve`: a local site of a folder of results."""

from __future__ import annotations

import argparse
import ipaddress
import os
import socket
import ssl
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from ...bundle import RESULTS
from ...errors import BakeoffError, ExitCode, PlanError
from ..arguments import Commands, add_command, add_json
from ..output import flush, print_json, show

PASSWORD_MIN = 12


def add(commands: Commands) -> None:
    p = add_command(
        commands,
        "serve",
        run,
        help="show bundles and running plans in a browser, and write and run plans there",
        description="Serves a folder of results on this machine: plans while they run, their reports, comparisons of"
        " any two bundles, and what goes on as OpenMetrics at /metrics; an editor of plans, and installing systems."
        " Whoever has the address can run programs as you. Prints the address; ends with Ctrl-C.",
        epilog="example:\n  bakeoff serve\n  bakeoff serve --results results --port 8001\n"
        "  bakeoff serve --bind 10.0.0.5 --certificate site.pem --key site.key --password-file password",
    )
    p.add_argument(
        "--results",
        type=Path,
        default=RESULTS,
        metavar="DIR",
        help=f"the folder of the bundles (default: {RESULTS})",
    )
    p.add_argument("--port", type=int, default=0, metavar="N", help="the port (default: one that is free)")
    p.add_argument(
        "--bind",
        metavar="ADDRESS",
        help="serve other machines, too, from this address; needs the three options that follow",
    )
    p.add_argument("--certificate", type=Path, metavar="FILE", help="of TLS, as PEM, with its chain")
    p.add_argument("--key", type=Path, metavar="FILE", help="the certificate's private key, as PEM")
    p.add_argument(
        "--password-file",
        type=Path,
        metavar="FILE",
        help=f"a file with the password, of at least {PASSWORD_MIN} letters; the name may be any",
    )
    p.add_argument(
        "--allow-runs",
        action="store_true",
        help="with --bind: whoever has the password may also write and run plans and install systems, and so run"
        " programs as you",
    )
    add_json(p)


def run(options: argparse.Namespace) -> int:
    import uvicorn

    from ...serve.access import Access
    from ...serve.app import application

    if not options.results.is_dir() and options.results != RESULTS:  # which the first run makes
        hint = "`bakeoff run` creates it; name another with --results"
        raise PlanError(f"there is no folder {options.results}", where="--results", hint=hint)
    password = _password(options)
    address = options.bind or "127.0.0.1"
    with _listening(address, options.port) as listening:
        port = listening.getsockname()[1]
        hosts = frozenset() if password else frozenset(f"{name}:{port}" for name in ("127.0.0.1", "localhost"))
        access = Access(hosts, password)
        config = uvicorn.Config(
            application(options.results, access, runs_allowed=options.bind is None or options.allow_runs),
            log_level="error",
            access_log=False,  # addresses have the token
            server_header=False,
            ssl_certfile=options.certificate,
            ssl_keyfile=options.key,
            timeout_graceful_shutdown=1,
        )
        site = f"https://{_in_url(address)}:{port}/" if password else f"http://127.0.0.1:{port}/?token={access.token}"
        if options.json:
            print_json({"address": site, "token": None if password else access.token})
        else:
            show(site)
        flush()
        os.nice(10)  # a run may go on
        with suppress(KeyboardInterrupt):  # which is how it ends
            uvicorn.Server(config).run(sockets=[listening])
    return ExitCode.DONE


def _password(options: argparse.Namespace) -> str:
    """Of a server that others can reach; "" of one that only this machine can. Raises PlanError."""
    needed = {"--certificate": options.certificate, "--key": options.key, "--password-file": options.password_file}
    if options.bind is None:
        said = [name for name, path in needed.items() if path is not None] + ["--allow-runs"] * options.allow_runs
        if said:
            raise PlanError("it is for --bind, which is not given", where=said[0])
        return ""
    if lacking := [name for name, path in needed.items() if path is None]:
        raise PlanError(
            f"--bind needs {' and '.join(lacking)}",
            where="--bind",
            hint="other machines reach it by TLS and a password alone",
        )
    for name, path in needed.items():
        if not path.is_file():
            raise PlanError(f"there is no file {path}", where=name)
    _refuse_unfit(options.certificate, options.key)
    try:
        password: str = options.password_file.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        what = f"{options.password_file} cannot be read as a text in UTF-8"
        raise PlanError(what, where="--password-file") from None
    if len(password) < PASSWORD_MIN:
        raise PlanError(f"the password has fewer than {PASSWORD_MIN} letters", where="--password-file")
    return password


def _refuse_unfit(certificate: Path, key: Path) -> None:
    """What the server, or who visits it, would fail with only later. Raises PlanError."""
    from cryptography import x509
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    try:
        own = x509.load_pem_x509_certificates(certificate.read_bytes())[0]
    except (OSError, ValueError):
        raise PlanError(f"{certificate} cannot be read as a certificate in PEM", where="--certificate") from None
    try:
        load_pem_private_key(key.read_bytes(), None)
    except TypeError:  # else it would be asked for in the terminal
        raise PlanError(f"{key} is protected by a passphrase", where="--key", hint="give a key without one") from None
    except (OSError, ValueError, UnsupportedAlgorithm):
        raise PlanError(f"{key} cannot be read as a private key in PEM", where="--key") from None
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key)
    except ssl.SSLError as error:
        what = f"{key} is not the key of {certificate}"
        if error.reason not in ("KEY_VALUES_MISMATCH", "KEY_TYPE_MISMATCH", "NO_CERTIFICATE_ASSIGNED"):
            what = f"{certificate} and {key} cannot be used for TLS: {error.reason}"
        raise PlanError(what, where="--key") from None
    now = datetime.now(UTC)
    if now > own.not_valid_after_utc:
        raise PlanError(f"{certificate} expired on {own.not_valid_after_utc:%Y-%m-%d}", where="--certificate")
    if now < own.not_valid_before_utc:
        raise PlanError(f"{certificate} is valid only from {own.not_valid_before_utc:%Y-%m-%d}", where="--certificate")


def _listening(address: str, port: int) -> socket.socket:
    try:
        family = socket.AF_INET6 if ipaddress.ip_address(address).version == 6 else socket.AF_INET
    except ValueError:
        raise PlanError(f"{address} is not an IP address", where="--bind") from None
    if not 0 <= port < 65536:
        raise PlanError(f"{port} is not a port", where="--port")
    listening = socket.socket(family)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((address, port))
        listening.listen()  # whoever opens the address at once waits
    except OSError as error:
        listening.close()
        what = f"cannot listen on {address} port {port}: {error.strerror}"
        raise BakeoffError(what, hint="choose another with --port, or leave --port out") from error
    return listening


def _in_url(address: str) -> str:
    return f"[{address}]" if ":" in address else address
