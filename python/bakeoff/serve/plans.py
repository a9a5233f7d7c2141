"""Plans as files: those that the site's editor can begin from, what a dry run says of a text, and saving one.

Reads and writes only files below its folder, follows no links, and saves no text with a secret.
"""

from __future__ import annotations

import hashlib
import re
import threading
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..bundle.files import write_text
from ..errors import BakeoffError, PlanError
from ..input_files import read_bytes
from ..plan import new_plan
from ..plan.comparison import refuse_unjudged
from ..plan.document.tables import names_a_secret
from ..plan.dry_run.describe import DryRun, describe
from ..plan.existing_tables import changes_words, existing_loads, look
from ..plan.read import resolve
from ..plan.resolved import ResolvedPlan

MAX_BYTES = 1 << 20
#: Of the folder, in the list.
_LISTED_MAX = 200
#: In a checkout a link to the folder of this name; the package has the files themselves.
EXAMPLES = Path(new_plan.__file__).with_name("examples")
_NAME = re.compile(r"(?:\w[\w +-]*/){0,8}\w[\w .+-]{0,100}\.toml")
#: Plans that need files of their own next to them begin nowhere else.
_NEEDS_FILES = re.compile(r'^[^#]*(\bycsb_file\b|\.sql")', re.MULTILINE)
_SYSTEMS = re.compile(r"^\s*\[\s*systems\b", re.MULTILINE)
#: With a user, and perhaps a password.
_ADDRESS_WITH_USER = re.compile(r"""\baddress["']?[ \t]*=[ \t]*["'][^"'\n]*@|://[^\s/"'@]*:[^\s/"'@]*@""")
_TEXT_AT_KEY = re.compile(r"([\w-]+)[\"']?[ \t]*=[ \t]*[\"']")


@dataclass(frozen=True)
class Offered:
    """value: as `text_of` takes it."""

    value: str
    title: str


@dataclass(frozen=True)
class Opened:
    """digest: of its file, which `save` may replace; "" if it is not a file of the folder."""

    text: str
    name: str
    digest: str


@dataclass(frozen=True)
class Checked:
    """error: what is wrong with the plan; line: where, from 1. unseen: existing systems that were not connected to.
    refusals: why some could not be."""

    plan: ResolvedPlan | None = None
    dry: DryRun | None = None
    error: BakeoffError | None = None
    line: int | None = None
    unseen: Sequence[str] = ()
    refusals: Sequence[BakeoffError] = ()


class FileExists(BakeoffError):
    """digest: of the existing file."""

    def __init__(self, what: str, *, where: str, digest: str) -> None:
        super().__init__(what, where=where, hint="replace it, or save under another name")
        self.digest = digest


class Plans:
    """May be asked from several threads. results: where bundles are, in which nothing is saved."""

    def __init__(self, results: Path, folder: Path = Path()) -> None:
        self._results = results
        self._folder = folder
        self._saving = threading.Lock()

    def examples(self) -> list[Offered]:
        texts = ((path.stem, path.read_text(encoding="utf-8")) for path in sorted(EXAMPLES.glob("*.toml")))
        return [Offered(f"example:{name}", _title(text, name)) for name, text in texts if not _NEEDS_FILES.search(text)]

    def saved(self) -> list[Offered]:
        return list(self._saved())[:_LISTED_MAX]

    def _saved(self) -> Iterator[Offered]:
        for path in sorted([*self._folder.glob("*.toml"), *self._folder.glob("plans/**/*.toml")]):
            name = path.relative_to(self._folder).as_posix()
            try:
                text = self._read(name)[0]
            except (OSError, ValueError, PlanError):
                continue
            if _SYSTEMS.search(text):
                yield Offered(f"file:{name}", name)

    def text_of(self, value: str) -> Opened:
        """Raises PlanError."""
        kind, _, name = value.partition(":")
        if value == "first":
            text = new_plan.starter("bakeoff.toml").removeprefix(f"#:schema {new_plan.SCHEMA.name}\n")
            return Opened(text, "bakeoff.toml", "")
        if kind == "example" and value in (one.value for one in self.examples()):
            return Opened((EXAMPLES / f"{name}.toml").read_text(encoding="utf-8"), f"{name}.toml", "")
        if kind != "file":
            raise PlanError("there is no such plan", where=value)
        try:
            text, digest = self._read(name)
        except OSError as error:
            raise PlanError(f"cannot read the plan: {error.strerror}", where=name) from None
        except UnicodeDecodeError:
            raise PlanError("the plan is not UTF-8 text", where=name) from None
        return Opened(text, name, digest)

    def check(self, text: str, name: str, *, asking: bool) -> Checked:
        """What a dry run says. asking: connect to existing systems, too."""
        path = self._folder / (name if _NAME.fullmatch(name) else "plan.toml")
        try:
            plan = resolve(text, path.parent, path=path, must_run=False)
            refuse_unjudged(plan)
            tables, refusals = look(plan) if asking else ([], [])
            dry = describe(plan, self._results, tables)
        except BakeoffError as error:
            found = re.fullmatch(r"(?:line (\d+)|(end of document))?(?:, )?(.*)", _after(str(path), error.where))
            assert found is not None
            line = int(found[1]) if found[1] else text.count("\n") + 1 if found[2] else None
            return Checked(error=BakeoffError(error.what, where=found[3], hint=error.hint), line=line)
        if words := changes_words(tables):
            dry.warnings.append(words)
        unseen = [] if asking else list(dict.fromkeys(cell.record.system for cell in existing_loads(plan)))
        return Checked(plan, dry, unseen=unseen, refusals=refusals)

    def save(self, text: str, name: str, replaces: str) -> str:
        """Writes it, whole or not at all, and returns its digest. replaces: the digest of a file that it may overwrite.
        Raises FileExists for another file, and PlanError for a name or a text that cannot be saved."""
        path = self._place(name)
        if secret := next((key for key in _TEXT_AT_KEY.findall(text) if names_a_secret(key)), None):
            hint = 'write { env = "NAME_OF_VARIABLE" } or { file = "path" }'
            raise PlanError(f"`{secret}`: a plan must not contain a secret, so it is not saved", where=name, hint=hint)
        if _ADDRESS_WITH_USER.search(text):
            what = "an address must contain no user and no password, so the plan is not saved"
            raise PlanError(what, where=name, hint='write user = "..." and password = { env = "NAME" } next to it')
        with self._saving:
            try:
                before, digest = self._read(name)
            except FileNotFoundError:
                pass
            except (OSError, UnicodeDecodeError):
                raise PlanError("what has this name is no plan", where=name, hint="name another file") from None
            else:
                if digest != replaces and before != text:
                    what = "this plan exists" if _SYSTEMS.search(before) else "this file exists, and is no plan"
                    raise FileExists(what, where=name, digest=digest)
            write_text(path.parent, path.name, text)
        return hashlib.sha256(text.encode()).hexdigest()

    def unchanged(self, name: str, digest: str) -> Path:
        """The file of this plan. Raises PlanError if its digest is another."""
        path = self._place(name)
        try:
            if self._read(name)[1] == digest:
                return path
        except (OSError, UnicodeDecodeError):
            pass
        raise PlanError("this plan was changed meanwhile", where=name, hint="open it again")

    def _read(self, name: str) -> tuple[str, str]:
        """With its digest. Raises OSError, UnicodeDecodeError, PlanError."""
        data = read_bytes(self._place(name), MAX_BYTES)
        return data.decode("utf-8-sig").replace("\r\n", "\n"), hashlib.sha256(data).hexdigest()

    def _place(self, name: str) -> Path:
        """The path of a plan with this name, which need not exist. Raises PlanError."""
        if not _NAME.fullmatch(name):
            hint = "write letters, digits, spaces, - and _, and .toml at the end: my.toml, or plans/my.toml"
            raise PlanError("this cannot be the name of a plan", where=name[:100], hint=hint)
        path, own = self._folder / name, self._folder.resolve()
        inside = path.parent.resolve()
        if not inside.is_relative_to(own) or path.is_symlink():
            raise PlanError("this is outside of the folder of `bakeoff serve`", where=name)
        if inside.is_relative_to(self._results.resolve()):
            raise PlanError("this is the folder of the bundles", where=name, hint="save plans outside of it")
        if not inside.is_dir():
            raise PlanError(f"there is no folder {Path(name).parent}", where=name, hint="save it into one that exists")
        return path


def _after(name: str, where: str) -> str:
    """The place in a plan without the plan's name."""
    return where.removeprefix(name).removeprefix(", ").replace("\n", " ")


def _title(text: str, name: str) -> str:
    title = tomllib.loads(text).get("title")
    return f"{name}: {title}" if isinstance(title, str) else name
