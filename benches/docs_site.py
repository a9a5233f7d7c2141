"""A hook of mkdocs.yml: a link out of docs/ leads to a copy of its file; if the site has none, only its words stay."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files, InclusionLevel
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
_LINK = re.compile(r"\[([^]]*)\]\(([^)\s#:]+)([^)\s]*)\)")
#: In the site: what the repository has outside docs/.
_OUTSIDE = Path("source")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Pages may link to these; of the site's pages they are in no menu."""
    for path in [*ROOT.glob("*.md"), *(ROOT / "benches").rglob("*.md"), *(ROOT / "plans").rglob("*.*")]:
        file = File.generated(config, f"{_OUTSIDE}/{path.relative_to(ROOT)}", abs_src_path=str(path))
        file.inclusion = InclusionLevel.NOT_IN_NAV
        files.append(file)
    return files


def on_page_markdown(markdown: str, page: Page, files: Files, **_: Any) -> str:
    here = Path(str(page.file.abs_src_path)).parent

    def in_site(link: re.Match[str]) -> str:
        words, target, anchor = link.groups()
        path = Path(os.path.normpath(here / target))
        if not path.exists():
            return link[0]
        uri = path.relative_to(DOCS) if path.is_relative_to(DOCS) else _OUTSIDE / path.relative_to(ROOT)
        if not files.get_file_from_path(str(uri)):
            return words
        return f"[{words}]({os.path.relpath(uri, Path(page.file.src_uri).parent)}{anchor})"

    return _LINK.sub(in_site, markdown)
