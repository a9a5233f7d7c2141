"""A script for sysbench in a plan: the engine gets its text, and those of the files that it requires."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from ..errors import PlanError
from .base import Asked, locate, read_text
from .sysbench import ELSEWHERE

#: Where sysbench's packages put the scripts that come with it.
INSTALLED = Path("/usr/share/sysbench")

#: `require("oltp_common")`, and what scripts of before 1.0 say: `dofile(pathtest .. "common.lua")`.
_REQUIRED = re.compile(r"""\brequire\s*\(?\s*["']([\w.-]+)["']|\bdofile\s*\([^)"']*["']([\w.-]+)\.lua["']""")
_OF_LUA = {"ffi", "bit", "math", "os", "string", "table"}


def read(options: dict[str, Any], base_dir: Path) -> Asked:
    """The [workload] table without `kind`. Raises PlanError."""
    if isinstance(script_options := options.get("options"), dict):
        for name in script_options:
            if (hint := ELSEWHERE.get(name.replace("-", "_"))) is not None:
                raise PlanError(f"`{name}` of sysbench belongs elsewhere in a plan", hint=hint)
    script, modules = options.get("script"), options.get("modules", [])
    named = isinstance(modules, list) and all(isinstance(name, str) for name in modules)
    if not isinstance(script, str) or not named:
        return Asked(dict(options))  # for the engine to refuse
    path = _find(base_dir, script)
    sources = [path, *(_find(base_dir, name) for name in modules)]
    texts = [read_text(path, "script" if path is sources[0] else "modules") for path in sources]
    found = {source.stem for source in sources}
    for text in texts:  # grows while it is gone through
        for name in _required(text) - found:
            found.add(name)
            if (neighbour := _beside(path, base_dir, f"{name}.lua")) is not None:
                sources.append(neighbour)
                texts.append(read_text(neighbour, "script"))
    files = [{"name": source.name, "text": text} for source, text in zip(sources, texts, strict=True)]
    return Asked(options | {"script": files[0], "modules": files[1:]}, sources=sources)


def _required(text: str) -> set[str]:
    code = re.sub(r"--(?!\[).*", "", text)
    return {one or other for one, other in _REQUIRED.findall(code)} - _OF_LUA


def _find(base_dir: Path, name: str) -> Path:
    path = locate(base_dir, name)
    installed = INSTALLED / name
    return installed if not path.exists() and "/" not in name and installed.exists() else path


def _beside(script: Path, base_dir: Path, name: str) -> Path | None:
    """A file that a script requires; None: the script may do without, or its error says that it is missing."""
    places = [script.parent / name, locate(base_dir, name), INSTALLED / name]
    return next((place for place in places if place.exists()), None)
