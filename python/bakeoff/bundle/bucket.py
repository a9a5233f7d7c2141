"""Bundles in a bucket, by its address (s3://bucket/prefix), through fsspec: put there, and mirrored into a folder.

In a bucket a bundle has one file more, CHECKSUMS, which is written last but for bundle.json: with it a mirror fetches
only what changed, and notices what is missing or altered. A bundle that something else put there has none, and is known
by what the listing says of its files. A bucket may come from anybody (decision 15): only files with names of a bundle's
are fetched, each up to FILE_MAX_BYTES; they are written as a bundle's own files are, never through a link.

Credentials are those of fsspec's file systems (environment, configuration files, roles): no address has them.
"""

from __future__ import annotations

import base64
import fcntl
import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from pydantic import ValidationError

from ..analysis.wording import bytes_words, counted
from ..errors import BakeoffError, BundleError, PlanError
from ..locks import open_plain
from ..model.records.bundle import BundleInfo
from . import files
from .read import DOCUMENT_MAX_BYTES, TABLE_MAX_BYTES, Bundle
from .results_folder import discard, is_written

CHECKSUMS = "checksums.json"
#: Others that fsspec knows, such as ftp://, http:// and github://, are not tested. `memory` is for tests of bakeoff.
SCHEMES = ("s3", "gs", "abfs", "az", "file")
FILE_MAX_BYTES = TABLE_MAX_BYTES
BUNDLE_MAX_BYTES = 8 << 30
FILES_MAX = 100_000
#: Fetched at once, where the file system can.
_BATCH_BYTES = 64 << 20
_BATCH_FILES = 64
#: Next to the bundles of a mirror: what the listing said of each file that was fetched.
_STATE = "mirror.json"
_LOCK = "mirror.lock"
#: Of this machine, or made from the others.
_LEFT_OUT = frozenset({"bundle.lock", "report.html", "live.jsonl"})
#: What listings say of an object that changes when it does.
_MARKS = (
    *("size", "ETag", "etag", "md5Hash", "crc32c", "generation", "content_md5"),
    *("LastModified", "last_modified", "updated", "mtime", "created"),
)
_NAME = re.compile(r"[^/\0\x01-\x1f.][^/\0\x01-\x1f]*")
_SECRET_MIN = 6
_SECRET = re.compile("KEY|SECRET|TOKEN|PASSWORD|CREDENTIAL", re.IGNORECASE)
#: Of a file in the bucket, by the listing of its file system.
Said = Mapping[str, Any]
#: Path in a bundle -> [mark of its listing, SHA-256].
State = dict[str, list[str]]


def is_address(words: str) -> bool:
    return "://" in words


@dataclass
class Mirrored:
    """folder: has the bundles now. fetched_bytes: what was not there yet. left_out: sentences on what was not taken."""

    folder: Path
    bundles: int = 0
    fetched_bytes: int = 0
    left_out: list[str] = field(default_factory=list)


class Bucket:
    """Raises PlanError where the address or a Python package is missing or wrong, and BakeoffError where the bucket
    does not answer."""

    def __init__(self, address: str) -> None:
        parts = urlsplit(address)
        if parts.username is not None or parts.password is not None or parts.query:
            what = "an address of bundles has no credentials and no parameters"
            hint = "put them where the file system looks for them: environment variables or its configuration file"
            raise PlanError(what, where=f"{parts.scheme}://...", hint=hint)
        if "::" in address:
            raise PlanError("an address of bundles is of one file system", where=address, hint="s3://bucket/prefix")
        if parts.scheme not in (*SCHEMES, "memory"):
            known = ", ".join(f"{scheme}://" for scheme in SCHEMES)
            raise PlanError(f"bundles cannot be kept at {parts.scheme}://, only at {known}", where=address)
        if find_spec("fsspec") is None:
            what = "the Python package fsspec is missing; bundles in a bucket need it"
            raise PlanError(what, where=address, hint="pip install 'bakeoff[bucket]'")
        import fsspec

        self.address = address
        try:
            options = {"auto_mkdir": True} if parts.scheme == "file" else {}
            self._files, root = fsspec.core.url_to_fs(address, **options)
        except (ImportError, ValueError, OSError) as error:
            words = str(error).partition("\n")[0]
            hint = "pip install 'bakeoff[bucket]' has s3://; gs:// needs gcsfs, and abfs:// adlfs"
            raise PlanError(f"no file system for {parts.scheme}://: {words}", where=address, hint=hint) from error
        self._root = root.rstrip("/")

    def key(self) -> str:
        """Of a folder for its mirror."""
        return hashlib.sha256(self.address.rstrip("/").encode()).hexdigest()[:16]

    @contextmanager
    def mirrored(self, into: Path) -> Iterator[Mirrored]:
        """Has `into` hold what the bucket has: what changed is fetched, what the bucket no longer has is removed.
        `into` belongs to mirrors of this address, and no other process changes it until the block ends."""
        try:
            into.mkdir(parents=True, exist_ok=True)
            lock = open_plain(into / _LOCK, os.O_RDWR | os.O_CREAT)
        except OSError as error:
            raise BakeoffError(f"cannot write the mirror of the bucket: {error.strerror}", where=str(into)) from error
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            found = self._mirror(into)
            # Several may read at once. Another may mirror in between: then that newer state is read.
            fcntl.flock(lock, fcntl.LOCK_SH)
            yield found
        finally:
            os.close(lock)

    def _mirror(self, into: Path) -> Mirrored:
        found = Mirrored(into)
        before, state = _state_of(into), {}
        with self._asking():
            self._files.invalidate_cache()
            by_bundle = self._listing()
            # In a bucket the last file takes its folder with it: one that had bundles is empty.
            if not by_bundle and not before and not self._files.isdir(self._root):
                raise FileNotFoundError
        for name in {path.name for path in into.iterdir() if path.is_dir()} - by_bundle.keys():
            _drop(into / name)
        for name, there in by_bundle.items():
            try:
                with self._asking():
                    state[name] = self._fetch(name, there, into / name, before.get(name, {}), found)
            except BundleError as error:
                _drop(into / name)
                found.left_out.append(f"{name} is left out: {error.what}")
        files.write_text(into, _STATE, json.dumps(state))
        return found

    def push(self, folder: Path) -> tuple[int, int]:
        """Puts a bundle there, by its folder's name. Returns how many files and bytes were missing or altered there."""
        bundle = Bundle.open(folder)
        if bundle.info.state == "running":
            going_on = is_written(folder)
            what = "its plan still runs" if going_on else "its plan was broken off"
            hint = "wait until it ends" if going_on else f"bakeoff run --resume {folder}"
            raise BundleError(what, where=str(folder), hint=hint)
        name = folder.resolve().name
        if not _NAME.fullmatch(name):
            raise BundleError("its folder's name cannot be one in a bucket", where=str(folder), hint="rename it")
        with self._asking():
            return self._push(bundle, name)

    def _push(self, bundle: Bundle, name: str) -> tuple[int, int]:
        self._files.invalidate_cache()
        base = f"{self._root}/{name}"
        there = self._files.find(base, detail=True)
        if f"{base}/bundle.json" in there:
            info = _parsed(self._read(f"{base}/bundle.json"), BundleInfo)
            if info is None or info.id != bundle.info.id:
                hint = "rename the folder, or choose another prefix"
                raise PlanError(f"another bundle named {name} is there", where=self.address, hint=hint)
        layout = files.Layout({cell.id for cell in bundle.plan.cells}, bundle.info.kept)
        sums, count, size = {}, 0, 0
        for path in sorted((p for p in _files_in(bundle.folder) if _is_sent(layout, p)), key=_last_is_bundle_json):
            try:
                data = files.read_bytes(bundle.folder, path, FILE_MAX_BYTES)
            except OSError as error:
                raise BundleError(f"cannot read {path}: {error.strerror}", where=str(bundle.folder)) from error
            sums[path] = hashlib.sha256(data).hexdigest()
            if path == "bundle.json":
                self._files.pipe_file(f"{base}/{CHECKSUMS}", json.dumps(sums, indent=0).encode())
            if not self._has(f"{base}/{path}", there, data):
                self._files.pipe_file(f"{base}/{path}", data)
                count, size = count + 1, size + len(data)
        return count, size

    def _has(self, path: str, there: Mapping[str, Said], data: bytes) -> bool:
        """By the MD5 where the listing has it, as S3's and Google's do, else by reading the file: the checksums in the
        bucket say what was put there once. An ETag may be no MD5, so that another one proves nothing."""
        said = there.get(path)
        if said is None or _size(said) != len(data):
            return False
        md5 = hashlib.md5(data, usedforsecurity=False)
        marks = {str(said.get("ETag")).strip('"'), said.get("md5Hash")}
        if marks & {md5.hexdigest(), base64.b64encode(md5.digest()).decode()}:
            return True
        return bool(self._files.cat_file(path) == data)

    def _listing(self) -> dict[str, dict[str, Said]]:
        """bundle -> path in it -> what the listing says; of folders that have a bundle.json."""
        found: dict[str, dict[str, Said]] = {}
        for path, said in self._files.find(self._root, detail=True).items():
            name, _, rest = path.removeprefix(self._root).lstrip("/").partition("/")
            fit = _NAME.fullmatch(name) and name not in (_STATE, _LOCK)
            if rest and fit and said.get("type", "file") == "file":
                found.setdefault(name, {})[rest] = said
        return {name: there for name, there in sorted(found.items()) if "bundle.json" in there}

    def _fetch(self, name: str, there: Mapping[str, Said], folder: Path, before: State, found: Mirrored) -> State:
        """Returns what is known of its files now. Raises BundleError where it is not whole, or too large."""
        base = f"{self._root}/{name}"
        sums = self._checksums(base, there)
        info = _parsed(self._read(f"{base}/bundle.json"), BundleInfo)
        if info is None:
            raise BundleError("its bundle.json cannot be read")
        layout = files.Layout(None, info.kept)
        fit = (path for path in there if _is_sent(layout, path) and (not sums or path in sums))
        wanted = sorted(fit, key=_last_is_bundle_json)
        _refuse_unfit(wanted, there, sums)
        marks = {path: _mark(there[path]) for path in wanted}
        kept = {path: known for path, known in before.items() if marks.get(path) == known[0]}
        kept = {path: known for path, known in kept.items() if known[1] == sums.get(path, known[1])}
        state = {path: known for path, known in kept.items() if (folder / path).is_file()}
        for path in before.keys() - marks.keys():
            (folder / path).unlink(missing_ok=True)
        for batch in _batches([path for path in wanted if path not in state], there):
            sizes = {path: _size(there[path]) for path in batch}
            ranges = [(f"{base}/{path}", 0, size) for path, size in sizes.items() if size]  # none is no range
            columns = map(list, zip(*ranges, strict=True))
            fetched = iter(self._files.cat_ranges(*columns, on_error="raise") if ranges else ())
            for path, size in sizes.items():
                data = next(fetched) if size else b""
                sha256 = hashlib.sha256(data).hexdigest()
                if len(data) != size or sha256 != sums.get(path, sha256):
                    raise BundleError(f"{path} does not match its checksum: push the bundle again")
                files.write_bytes(folder, path, data)
                state[path] = [marks[path], sha256]
                found.fetched_bytes += size
        found.bundles += 1
        return state

    def _checksums(self, base: str, there: Mapping[str, Said]) -> dict[str, str]:
        """By path; none where something else put the bundle there."""
        if CHECKSUMS not in there and f"{base}/{CHECKSUMS}" not in there:
            return {}
        said = _json(self._read(f"{base}/{CHECKSUMS}"))
        if not isinstance(said, dict) or not all(isinstance(value, str) for value in said.values()):
            raise BundleError(f"its {CHECKSUMS} cannot be read")
        return said

    def _read(self, path: str) -> bytes:
        """A document, as far as it may be long."""
        with self._files.open(path, "rb") as file:
            return bytes(file.read(DOCUMENT_MAX_BYTES))

    @contextmanager
    def _asking(self) -> Iterator[None]:
        """What goes wrong with the bucket, in words without any value of the environment that may be a secret."""
        try:
            yield
        except BakeoffError:
            raise
        except FileNotFoundError as error:
            raise BundleError("there is no such bucket or folder", where=self.address) from error
        except Exception as error:  # each file system has errors of its own
            words = _without_secrets(f"{type(error).__name__}: {str(error).strip()}".partition("\n")[0].strip(": "))
            hint = "its credentials come from the environment or a configuration file: docs/howto/track.md"
            raise BakeoffError(f"the bucket does not answer: {words}", where=self.address, hint=hint) from None


def _last_is_bundle_json(path: str) -> tuple[bool, str]:
    return path == "bundle.json", path


def _is_sent(layout: files.Layout, path: str) -> bool:
    return path not in _LEFT_OUT and not path.rpartition("/")[2].startswith(".") and layout.is_file(path)


def _files_in(folder: Path) -> Iterator[str]:
    """Regular files, not through links."""
    for parent, _, names in os.walk(folder):
        for name in names:
            path = Path(parent, name)
            if path.is_file() and not path.is_symlink():
                yield path.relative_to(folder).as_posix()


def _refuse_unfit(wanted: Sequence[str], there: Mapping[str, Said], sums: Mapping[str, str]) -> None:
    if lacking := [path for path in sums if path not in there]:
        missing = counted(len(lacking), "of its files is", "of its files are")
        raise BundleError(f"{missing} missing: {lacking[0]}")
    if len(wanted) > FILES_MAX:
        raise BundleError(f"it has more than {FILES_MAX:,} files")
    sizes = {path: _size(there[path]) for path in wanted}
    if large := [path for path, size in sizes.items() if size > FILE_MAX_BYTES]:
        raise BundleError(f"{large[0]} is larger than {bytes_words(FILE_MAX_BYTES)}")
    if sum(sizes.values()) > BUNDLE_MAX_BYTES:
        raise BundleError(f"it is larger than {bytes_words(BUNDLE_MAX_BYTES)}")


def _batches(paths: Sequence[str], there: Mapping[str, Said]) -> Iterator[list[str]]:
    batch: list[str] = []
    size = 0
    for path in paths:
        if batch and (size + _size(there[path]) > _BATCH_BYTES or len(batch) == _BATCH_FILES):
            yield batch
            batch, size = [], 0
        batch.append(path)
        size += _size(there[path])
    if batch:
        yield batch


def _size(said: Said) -> int:
    return int(said.get("size") or 0)


def _mark(said: Said) -> str:
    return "|".join(f"{name}={said[name]}" for name in _MARKS if said.get(name) is not None)


def _state_of(into: Path) -> dict[str, State]:
    try:
        said = json.loads(files.read_bytes(into, _STATE, FILE_MAX_BYTES))
    except (OSError, ValueError):
        return {}
    return said if isinstance(said, dict) else {}


def _drop(folder: Path) -> None:
    """Of a mirror, what is not in its bucket any more."""
    if folder.is_dir() and not folder.is_symlink():
        discard(folder)


def _json(data: bytes) -> Any:
    try:
        return json.loads(data)
    except ValueError:
        return None


def _parsed(data: bytes, kind: type[BundleInfo]) -> BundleInfo | None:
    try:
        return kind.model_validate_json(data)
    except ValidationError:
        return None


def _without_secrets(words: str) -> str:
    for name, value in os.environ.items():
        if _SECRET.search(name) and len(value) >= _SECRET_MIN:
            words = words.replace(value, "...")
    return words
