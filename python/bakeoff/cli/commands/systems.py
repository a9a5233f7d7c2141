"""`bakeoff systems`: what can be tested, and obtaining servers without root."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ...analysis.wording import bytes_words
from ...errors import ExitCode, PlanError
from ..arguments import Commands, add_command, add_json
from ..output import hanging, print_json, say, show, table

if TYPE_CHECKING:
    from ...provision.installation import Sources


def add(commands: Commands) -> None:
    p = add_command(
        commands,
        "systems",
        run_list,
        help="list, install or remove database servers",
        description="Lists the systems that plans may name; installs servers into your own cache, without root.",
        epilog="example:\n  bakeoff systems\n  bakeoff systems install mariadb@10.11 mysql@5.5",
    )
    add_json(p)
    p.add_argument(
        "--survey",
        action="store_true",
        help="what each system promises: data model, consistency, transactions, replication, ..., with sources",
    )
    verbs = p.add_subparsers(dest="verb", metavar="[install|list|remove]")
    one = verbs.add_parser("list", help="available and installed systems (the default)")
    add_json(one, of_verb=True)
    one.set_defaults(run=run_list, survey=False)
    one = verbs.add_parser("install", help="download servers into the cache")
    one.add_argument(
        "what",
        nargs="+",
        metavar="KIND[@VERSION]",
        help="such as mariadb, or mariadb@10.11 mysql@5.5; default version: the newest",
    )
    one.add_argument("--from", dest="source", metavar="SOURCE", help="a source that `bakeoff systems` lists for it")
    one.add_argument("--image", metavar="NAME", help="pull this container image: docker.io/library/mysql:8.4")
    add_json(one, of_verb=True)
    one.set_defaults(run=run_install)
    one = verbs.add_parser("remove", help="remove an installed server from the cache")
    one.add_argument("what", metavar="KIND[@VERSION]", help="the kind with all its versions, or one version")
    add_json(one, of_verb=True)
    one.set_defaults(run=run_remove)


def run_list(options: argparse.Namespace) -> int:
    from ...systems import SYSTEMS
    from ...systems.listing import described
    from ...systems.survey import without_driver

    if options.survey:
        return _survey(as_json=options.json)
    systems = [described(kind) for kind in SYSTEMS]
    absent = {one.name: one.absent for one in without_driver()}
    if options.json:
        print_json({"systems": systems, "without_driver": absent})
        return ExitCode.DONE
    show("\n".join(_grouped(systems)))
    show("without a driver:")
    show(hanging([[f"  {name}", why] for name, why in absent.items()]))
    rows = [[s["kind"], one["version"], one["from"]] for s in systems for one in s["here"]]
    if rows:
        show()
        show(hanging(rows, ["installed", "version", "from"]))
    rows = [row for s in systems for one in s["sources"] for row in _offered(s["kind"], one)]
    if rows:
        show()
        show(table(rows, ["can be installed", "--from", "version", "download", "on disk", "needs"]))
    return ExitCode.DONE


def _survey(*, as_json: bool) -> int:
    from ...systems import survey as surveyed

    if as_json:
        print_json(surveyed.as_json())
        return ExitCode.DONE
    found = surveyed.survey()
    for one in found.system:
        rows = [[f"  {head}", one.cell(column)] for column, head in surveyed.COLUMNS.items()]
        sources = dict.fromkeys(one.sources.values())
        show(one.name)
        show(hanging([*rows, ["  driver here", one.driver], *(["  source", source] for source in sources)]))
        show()
    show("what bakeoff tests of it")
    show(hanging([[f"  {surveyed.COLUMNS[column]}", words] for column, words in found.tests.items()]))
    return ExitCode.DONE


def _grouped(systems: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Lines of at most 80 columns: each group under its name."""
    from ...systems.base import GROUPS
    from ...systems.listing import about, state

    width, state_width = max(len(s["kind"]) for s in systems), max(len(state(s)) for s in systems)
    for group in GROUPS:
        rows = [
            [f"  {s['kind']:<{width}}", f"{state(s):<{state_width}}", about(s)] for s in systems if s["group"] == group
        ]
        if rows:
            yield f"{group}:"
            yield hanging(rows)


def _offered(kind: str, source: Mapping[str, Any]) -> list[list[str]]:
    """A line for each version."""
    needs = f"missing: {source['missing']}" if source["missing"] else source["needs"]
    return [
        [kind, source["source"], one["version"], _size(one["download_bytes"]), _size(one["on_disk_bytes"]), needs]
        for one in source["offers"]
    ]


def _size(size_bytes: int | None) -> str:
    return bytes_words(size_bytes) if size_bytes else ""


def run_install(options: argparse.Namespace) -> int:
    asked = [_asked(what) for what in options.what]
    if options.image:
        if len(asked) > 1:
            raise PlanError("an image is of one system", hint="install the others without --image")
        return _pull(asked[0][0], options.image, options.json)
    installed = []
    for sources, version in asked:
        done = sources.install(version, options.source, say)
        installed.append(done.as_dict())
        if not options.json:
            show(f"installed {done.name} {done.version} in {done.folder} ({bytes_words(done.size_bytes)})")
    if options.json:
        print_json({"installed": installed})
    return ExitCode.DONE


def _pull(sources: Sources, image: str, as_json: bool) -> int:
    from ...provision.container import pull

    if sources.in_images is None:
        raise PlanError(f"{sources.kind} cannot be started from images")
    digest = pull(image)
    if as_json:
        print_json({"image": image, "digest": digest})
    else:
        show(f'pulled {image} ({digest}): start = {{ image = "{image}" }}')
    return ExitCode.DONE


def run_remove(options: argparse.Namespace) -> int:
    sources, version = _asked(options.what)
    removed = sources.remove(version)
    if options.json:
        print_json({"removed": [one.as_dict() for one in removed]})
    else:
        for one in removed:
            show(f"removed {one.name} {one.version} from {one.folder}")
    return ExitCode.DONE


def _asked(what: str) -> tuple[Sources, str | None]:
    """The sources of a kind, and the version wanted. Raises PlanError."""
    from ...systems import SYSTEMS

    kind, _, version = what.partition("@")
    sources = SYSTEMS[kind].sources() if kind in SYSTEMS else None
    if sources is None:
        known = ", ".join(name for name, system in SYSTEMS.items() if system.sources())
        raise PlanError(f"there is no system {kind!r} to install", hint=f"known: {known}")
    if version and not re.fullmatch(r"\d+(\.\d+)*", version):
        offers = "; ".join(f"{source.name}: {source.offer()}" for source in sources.fetching())
        raise PlanError(f"{version!r} is not a version of {kind}", hint=f"available, by source: {offers}")
    return sources, version or None
