"""`bakeoff bundles`: what was measured, and taking away what is no longer needed."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...analysis.wording import bytes_words, counted
from ...bundle import RESULTS
from ...errors import BakeoffError, BundleError, ExitCode, PlanError
from ..arguments import Commands, add_command, add_json, add_results, results_folder
from ..output import confirmed, print_json, say, show, table

if TYPE_CHECKING:
    from ...bundle.read import Bundle
    from ...bundle.results_folder import Listed
    from ...report.answer import Answer


#: Names of files in a sentence, and letters of a note in the list; --json has all.
LEFT_MAX = 20
NOTE_MAX = 40


def add(commands: Commands) -> None:
    p = add_command(
        commands,
        "bundles",
        run_list,
        help="list, show, annotate, push or remove bundles",
        description="Lists the bundles that `bakeoff run` left, the newest first; shows a summary of one; keeps a note"
        " with one; pushes them to a bucket; removes them.",
        epilog="example:\n  bakeoff bundles\n  bakeoff bundles show my-plan-20261121-120000\n"
        "  bakeoff bundles note my-plan-20261121-120000 'before the new disks'\n"
        "  bakeoff bundles push bakeoff-results/my-plan-20261121-120000 s3://bench-results/nightly\n"
        "  bakeoff bundles remove --older-than 30d --dry-run",
    )
    _add_folder(p)
    verbs = p.add_subparsers(dest="verb", metavar="[list|show|note|push|remove]")
    one = verbs.add_parser("list", help="the bundles of a folder, the newest first (the default)")
    _add_folder(one, of_verb=True)
    one.set_defaults(run=run_list)
    one = verbs.add_parser("show", help="one bundle: its plan, systems and answer")
    one.add_argument("bundle", help="its name in the folder, or its path")
    _add_folder(one, of_verb=True)
    one.set_defaults(run=run_show)
    one = verbs.add_parser("note", help="keep a note with a bundle, or show it; '' removes it")
    one.add_argument("bundle", help="its name in the folder, or its path")
    one.add_argument("words", nargs="*", help="the note, in place of the one that it has (default: show that)")
    _add_folder(one, of_verb=True)
    one.set_defaults(run=run_note)
    one = verbs.add_parser(
        "push",
        help="put finished bundles into a bucket (needs: pip install 'bakeoff[bucket]')",
        description="Puts bundles into a bucket, with checksums; files that it has unaltered are not sent again."
        " `track`, `list` and `show` read them with --results ADDRESS. Credentials come from the environment.",
    )
    one.add_argument("bundle", nargs="+", help="names in the folder, or paths")
    one.add_argument("address", help="s3://bucket/prefix, gs://..., abfs://..., az://... or file:///folder")
    _add_folder(one, of_verb=True)
    one.set_defaults(run=run_push)
    one = verbs.add_parser(
        "remove",
        help="remove bundles",
        description="Removes the files that bakeoff wrote into the bundles. Other files stay, and are listed.",
    )
    one.add_argument("bundle", nargs="*", help="names in the folder, or paths")
    one.add_argument("--older-than", metavar="AGE", help="bundles of the folder that are older than this: 30d, 12h")
    one.add_argument(
        "--damaged",
        action="store_true",
        help="also remove a bundle that cannot be opened, by its files' names: check first that it is a bundle",
    )
    one.add_argument("--dry-run", action="store_true", help="show what would be removed; remove nothing")
    one.add_argument("--yes", action="store_true", help="do not ask for confirmation")
    _add_folder(one, of_verb=True)
    one.set_defaults(run=run_remove)


def _add_folder(parser: argparse.ArgumentParser, *, of_verb: bool = False) -> None:
    add_results(parser, default=argparse.SUPPRESS if of_verb else RESULTS)
    add_json(parser, of_verb=of_verb)


def run_list(options: argparse.Namespace) -> int:
    from ...bundle.results_folder import bundles_in

    with results_folder(options.results) as folder:
        found = bundles_in(folder)
    if options.json:
        print_json({"bundles": [_document(one) for one in found]})
        return ExitCode.DONE
    if not found:
        say(f"there are no bundles in {options.results}")
        return ExitCode.DONE
    rows = [[one.name, _date(one), one.state, one.runs_words, bytes_words(one.size_bytes), one.title] for one in found]
    head = ["bundle", "started (UTC)", "state", "runs", "size", "title"]
    if any(one.note for one in found):
        rows = [[*row, _brief(one.note)] for row, one in zip(rows, found, strict=True)]
        head.append("note")
    show(table(rows, head))
    for one in found:
        for words in one.damage:
            say(f"warning: {one.name}: {words}")
    return ExitCode.DONE


def _brief(note: str) -> str:
    words = " ".join(note.split())
    return words if len(words) <= NOTE_MAX else f"{words[: NOTE_MAX - 1]}…"


def _date(one: Listed) -> str:
    return f"{one.created.astimezone(UTC):%Y-%m-%d %H:%M}"


def _document(one: Listed) -> dict[str, Any]:
    return {**asdict(one), "folder": str(one.folder), "created": one.created.isoformat(timespec="seconds")}


def run_show(options: argparse.Namespace) -> int:
    from ...bundle.read import Bundle
    from ...bundle.results_folder import listed
    from ...report.answer import analysed

    with results_folder(options.results) as results:
        folder = _folder(options.bundle, results)
        bundle = Bundle.open(folder)
        one, answer = listed(folder), analysed(bundle)
        report = folder / "report.html"
        systems, lines = _systems(bundle), list(_shown(one, bundle, answer, report))
    if options.json:
        document = {
            "systems": systems,
            "answer": answer.first.answer,
            "headline": answer.headline,
            "command": answer.command,
        }
        print_json({**_document(one), **document, "report": str(report) if report.is_file() else None})
        return ExitCode.DONE
    for name, words in lines:
        show(f"{name:<8}  {words}")
    for words in one.damage:
        say(f"warning: {words}")
    return ExitCode.DONE


def run_note(options: argparse.Namespace) -> int:
    from ...bundle.results_folder import annotate, listed

    folder = _folder(options.bundle, _here(options))
    if options.words:
        annotate(folder, " ".join(options.words))
    one = listed(folder)
    if options.json:
        print_json(_document(one))
    else:
        show(one.note or "no note")
    return ExitCode.DONE


def run_push(options: argparse.Namespace) -> int:
    from ...bundle.bucket import Bucket, is_address

    if not is_address(options.address):
        raise PlanError(f"{options.address} is no address", where="bundles push", hint="s3://bucket/prefix")
    folders = [_folder(name, _here(options)) for name in options.bundle]
    bucket = Bucket(options.address)
    pushed = []
    for folder in folders:
        count, size_bytes = bucket.push(folder)
        pushed.append({"bundle": folder.resolve().name, "files": count, "bytes": size_bytes})
        if not options.json:
            show(f"{folder.resolve().name}  {counted(count, 'file', 'files')}, {bytes_words(size_bytes)}")
    if options.json:
        print_json({"address": options.address, "pushed": pushed})
    return ExitCode.DONE


def _here(options: argparse.Namespace) -> Path:
    """The folder, where a bucket would be a copy that is fetched again."""
    if not isinstance(options.results, Path):
        what = "this works on bundles in a folder, not in a bucket"
        raise PlanError(what, where=f"--results {options.results}", hint="change the bundle where it is, then push it")
    return options.results


def _shown(one: Listed, bundle: Bundle, answer: Answer, report: Path) -> Iterator[tuple[str, str]]:
    yield "title", answer.title
    yield "begun", f"{_date(one)} UTC on {bundle.machine.hostname}, bakeoff {answer.bakeoff_version}; {one.state}"
    factors = (f"{name} = {', '.join(map(str, levels))}" for name, levels in _varied(bundle).items())
    yield "plan", "; ".join([*factors, answer.pacing, answer.measured])
    yield "systems", "; ".join(_systems(bundle))
    yield "runs", f"{one.runs_words}; {bytes_words(one.size_bytes)} on disk"
    if one.note:
        yield "note", one.note
    yield "answer", answer.first.answer
    yield "", answer.first.certainty_line
    for number, words in enumerate(answer.headline):
        yield "" if number else "details", words
    yield "report", str(report) if report.is_file() else f"none yet: bakeoff report {one.folder}"
    yield "command", answer.command


def _varied(bundle: Bundle) -> dict[str, dict[Any, None]]:
    """The levels of every factor that has several, but for the system, in the plan's order."""
    found: dict[str, dict[Any, None]] = {}
    for cell in bundle.plan.cells:
        for name, level in cell.levels.items():
            if name != "system":
                found.setdefault(name, {})[level] = None
    return found


def _systems(bundle: Bundle) -> list[str]:
    """ "mariadb (MariaDB 10.11.6)"; only the name where nothing was read back from it."""
    known = {cell.system: bundle.facts.get(cell.id) for cell in bundle.plan.cells}
    return [f"{name} ({facts.product} {facts.version})" if facts else name for name, facts in known.items()]


def run_remove(options: argparse.Namespace) -> int:
    from ...bundle.results_folder import left_by_removal, remove

    chosen = _chosen(options)
    words = f"{counted(len(chosen), 'bundle', 'bundles')} ({bytes_words(sum(one.size_bytes for one in chosen))})"
    if not options.json:
        for one in chosen:
            show(f"{one.folder}  {_date(one)}  {bytes_words(one.size_bytes)}  {one.title or one.state}")
    if options.dry_run or not chosen:
        stays = {str(one.folder): left_by_removal(one.folder) for one in chosen}
        _tell_removed(chosen, 0, stays, f"would remove {words}", removed=False, as_json=options.json)
        return ExitCode.DONE
    if not options.yes and not confirmed(f"remove {words}?"):
        raise PlanError("nothing was removed", hint="--yes removes without asking for confirmation")
    freed_bytes, left = 0, {}
    for one in chosen:
        freed, names = remove(one.folder, damaged=options.damaged)
        freed_bytes += freed
        left[str(one.folder)] = names
    words = f"removed {counted(len(chosen), 'bundle', 'bundles')}, {bytes_words(freed_bytes)} freed"
    _tell_removed(chosen, freed_bytes, left, words, removed=True, as_json=options.json)
    return ExitCode.DONE


def _tell_removed(
    chosen: Sequence[Listed], freed_bytes: int, left: dict[str, list[str]], words: str, *, removed: bool, as_json: bool
) -> None:
    if as_json:
        bundles = [_document(one) for one in chosen]
        print_json({"bundles": bundles, "removed": removed, "freed_bytes": freed_bytes, "left": left})
        return
    show(words)
    for folder, names in left.items():
        if names:
            more = f" and {len(names) - LEFT_MAX} more" if len(names) > LEFT_MAX else ""
            stays = "left in" if removed else "would stay in"
            say(f"{stays} {folder}, because bakeoff did not write it: {', '.join(names[:LEFT_MAX])}{more}")


def _chosen(options: argparse.Namespace) -> list[Listed]:
    """The bundles to remove; raises BakeoffError where one cannot be removed, as far as known now."""
    from ...bundle.results_folder import bundles_in, is_written, listed, refuse_link

    if bool(options.bundle) == bool(options.older_than):
        raise PlanError("no bundle is named", hint="names of bundles, or --older-than 30d; not both")
    if options.older_than:
        age_s, now = _age_s(options.older_than), datetime.now(UTC)
        old = [one for one in bundles_in(_here(options)) if (now - one.created).total_seconds() > age_s]
        # What cannot be opened may be another version's: its age is not known, and it goes only by its name.
        return [one for one in old if one.state not in ("running", "damaged") and not one.folder.is_symlink()]
    chosen = {folder.resolve(): folder for folder in (_folder(name, _here(options)) for name in options.bundle)}
    for folder in chosen.values():
        refuse_link(folder)
        if is_written(folder):
            raise BakeoffError(
                "another bakeoff run is writing into this bundle", where=str(folder), hint="wait until it ends"
            )
    found = [listed(folder) for folder in chosen.values()]
    for one in found:
        if one.state == "damaged" and not options.damaged:
            hint = "nothing was removed; --damaged removes the files in it whose names are those of a bundle's files"
            raise BundleError(
                f"this is not a bundle, or it is damaged: {one.damage[0]}", where=str(one.folder), hint=hint
            )
    return found


def _age_s(text: str) -> float:
    from ...plan.document.units import UnitError, parse_duration_s

    try:
        return parse_duration_s(text)
    except UnitError as error:
        raise PlanError(str(error), where="--older-than", hint=error.hint) from None


def _folder(name: str, results: Path) -> Path:
    """Of the bundle with this name in `results`, or at this path."""
    inside = results / name
    return inside if (inside / "bundle.json").is_file() else Path(name)
