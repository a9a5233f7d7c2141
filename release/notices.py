"""Licences of the crates in the wheel's engine, as Cargo knows them: `python release/notices.py x86_64`.

Python packages are not in the wheel: pip installs them with their own licences.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
_HEAD = """\
Third-party notices

The program bakeoff-engine contains the following software. Each licence text is given once, below the names of what is
under it. SQLite, which libsqlite3-sys brings, is in the public domain.
"""
_LICENCE = re.compile(r"(licen[cs]e|copying|notice|unlicense|copyright)([-._].*)?", re.IGNORECASE)
#: Of programs that a crate brings along, which are under another licence than it.
_BROUGHT = {
    "lmdb-master-sys": ("lmdb/libraries/liblmdb/COPYRIGHT", "lmdb/libraries/liblmdb/LICENSE"),
    "luajit-src": ("luajit2/COPYRIGHT",),
}
#: Crates whose sources are compiled into another, though it needs them only when it is built.
_COMPILED_IN = ("luajit-src",)
#: Crates without a licence file -> the crate of the same repository that has it.
_LICENSED_WITH = {"mlua-sys": "mlua"}
#: Where a crate offers a choice, the first of these that it names is the one that applies here.
PREFERRED = ("MIT", "Apache-2.0", "BSD-3-Clause", "ISC", "Zlib", "Unicode-3.0")


def notices(arch: str) -> str:
    under: dict[str, list[str]] = {}
    packages = sorted(engine_packages(arch), key=lambda one: (one["name"], one["version"]))
    by_name = {one["name"]: one for one in packages}
    without = []
    for package in packages:
        texts = texts_of(by_name[_LICENSED_WITH.get(package["name"], package["name"])])
        for text in texts:
            under.setdefault(text, []).append(f"{package['name']} {package['version']}")
        if not texts:
            without.append(name_of_apache_crate(package))
    lines = [f"{one['name']} {one['version']}: {one['license']} {one['repository'] or ''}".rstrip() for one in packages]
    sections = [f"{', '.join(names)}\n{'-' * 80}\n{text}\n" for text, names in under.items()]
    used = "Without a licence file in their packages, used under the Apache License 2.0 (LICENSE) or 0BSD"
    lines += ["", f"{used}: {', '.join(without) or 'none'}.", ""]
    return "\n".join([_HEAD, *lines, *(f"{'=' * 80}\n{section}" for section in sections)])


def name_of_apache_crate(package: dict[str, Any]) -> str:
    """Of one without a licence file, which must be offered under that of bakeoff itself, or ask for no notice."""
    name = f"{package['name']} {package['version']}"
    if package["license"] != "0BSD" and "Apache-2.0" not in str(package["license"]):
        sys.exit(f"{name} has no licence file and is not offered under Apache-2.0: {package['license']}")
    return name


def engine_packages(arch: str) -> Iterator[dict[str, Any]]:
    """That the engine is linked with, ours left out: neither what only builds or tests need nor other platforms'."""
    command = ["cargo", "metadata", "--locked", "--format-version", "1", "--filter-platform"]
    command.append(f"{arch}-unknown-linux-gnu")
    metadata = json.loads(subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout)
    packages = {one["id"]: one for one in metadata["packages"]}
    needs = {one["id"]: one["deps"] for one in metadata["resolve"]["nodes"]}
    compiled_in = {one["id"] for one in packages.values() if one["name"] in _COMPILED_IN}
    todo = [one["id"] for one in packages.values() if one["name"] == "bakeoff-engine"]
    seen = set(todo)
    while todo:
        for need in needs[todo.pop()]:
            linked = need["pkg"] in compiled_in or any(kind["kind"] is None for kind in need["dep_kinds"])
            if linked and need["pkg"] not in seen:
                seen.add(need["pkg"])
                todo.append(need["pkg"])
    return (packages[one] for one in seen if packages[one]["source"] is not None)


def texts_of(package: dict[str, Any]) -> list[str]:
    """Its licence files: of several to choose from, the one that is preferred, and what is said of the authors."""
    folder = Path(package["manifest_path"]).parent
    files = sorted(path for path in folder.iterdir() if path.is_file() and _LICENCE.fullmatch(path.name))
    licence = str(package["license"])
    chosen = "" if " AND " in licence else next((name for name in PREFERRED if name in licence), "")
    words = (chosen.split("-")[0].lower(), "notice", "copyright")
    fitting = [path for path in files if any(word in path.name.lower() for word in words)]
    if not any(words[0] in path.name.lower() for path in fitting):
        fitting = files
    fitting += [folder / name for name in _BROUGHT.get(package["name"], ())]
    texts = [path.read_text(encoding="utf-8", errors="replace") for path in fitting]
    return ["\n".join(line.rstrip() for line in text.strip().splitlines()) for text in texts]


if __name__ == "__main__":
    sys.stdout.write(notices(sys.argv[1]))
