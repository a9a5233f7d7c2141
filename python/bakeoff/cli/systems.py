"""`bakeoff systems`: what can be tested, and obtaining servers without root."""

from __future__ import annotations

import argparse
from collections.abc import Mapping

from ..analysis.wording import bytes_words
from ..errors import ExitCode
from .output import add_json, print_json, say, show, table


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    p = commands.add_parser(
        "systems",
        help="list, install or remove database servers",
        description="Lists the systems that plans may name; installs servers into a cache of your own, without root.",
        epilog="example:\n  bakeoff systems\n  bakeoff systems install mariadb",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_json(p)
    p.set_defaults(run=run_list)
    verbs = p.add_subparsers(dest="verb", metavar="[install|list|remove]")
    one = verbs.add_parser("list", help="what there is and what is installed (the default)")
    add_json(one)
    one.set_defaults(run=run_list)
    one = verbs.add_parser("install", help="fetch a server into the cache")
    one.add_argument("name", help="what to install: mariadb")
    one.add_argument("--version", help="the version wanted (default: the newest that can be had)")
    add_json(one)
    one.set_defaults(run=run_install)
    one = verbs.add_parser("remove", help="remove an installed server from the cache")
    one.add_argument("name")
    one.add_argument("--version", help="only this version")
    add_json(one)
    one.set_defaults(run=run_remove)


def run_list(options: argparse.Namespace) -> int:
    from ..provision.debian import installed
    from ..systems import SYSTEMS

    systems = [
        {
            "kind": kind,
            "summary": system.summary,
            "missing": system.available({}),
            "private": system.capabilities().private,
            "existing": system.capabilities().existing,
        }
        for kind, system in SYSTEMS.items()
    ]
    packages = [p.as_dict() for p in installed()]
    if options.json:
        print_json({"systems": systems, "installed": packages})
        return ExitCode.DONE
    rows = [[s["kind"], _private(s), s["summary"]] for s in systems]
    show(table(rows, ["system", "private instance", "what it is"]))
    if packages:
        show()
        rows = [[p["name"], p["version"], bytes_words(float(str(p["size_bytes"]))), p["folder"]] for p in packages]
        show(table(rows, ["installed", "version", "size", "where"]))
    return ExitCode.DONE


def _private(system: Mapping[str, object]) -> str:
    if not system["private"]:
        return "no: by `address` only"
    return "ready" if system["missing"] is None else f"not here: {system['missing']}"


def run_install(options: argparse.Namespace) -> int:
    from ..provision.debian import install

    package = install(options.name, options.version, progress=say)
    if options.json:
        print_json(package.as_dict())
    else:
        show(f"{package.name} {package.version} is installed in {package.folder}")
    return ExitCode.DONE


def run_remove(options: argparse.Namespace) -> int:
    from ..provision.debian import remove

    removed = remove(options.name, options.version)
    if options.json:
        print_json({"removed": [p.as_dict() for p in removed]})
    else:
        for package in removed:
            show(f"{package.name} {package.version} is removed")
    return ExitCode.DONE
