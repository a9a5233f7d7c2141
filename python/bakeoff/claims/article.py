"""Where articles are and their plans: those that come with bakeoff, and anybody's own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal, get_args

from ..errors import PlanError
from ..suggestions import meant
from .document import Article, read_article

Scale = Literal["small", "full"]
SCALES: Sequence[str] = get_args(Scale)
#: In a checkout these are links to the folders of the same names; the package has the files themselves.
SHIPPED = Path(__file__).with_name("shipped") / "claims"


def shipped() -> Iterator[tuple[Path, Article]]:
    for path in sorted(SHIPPED.glob("*.toml")):
        yield path, read_article(path)


def names() -> list[str]:
    """Of those that come with bakeoff."""
    return [path.stem for path in sorted(SHIPPED.glob("*.toml"))]


def find(said: str) -> Path:
    """The file of an article, by its name or its path."""
    if said.endswith(".toml"):
        return Path(said)
    if said in names():
        return SHIPPED / f"{said}.toml"
    hint = meant(said, names()) or "name a file that ends in .toml"
    raise PlanError(f"there is no article `{said}`", where="bakeoff claims", hint=hint)


def short(path: Path) -> str:
    """As a checkout names it, of what comes with bakeoff."""
    own = SHIPPED.parent
    return str(path.relative_to(own) if path.is_relative_to(own) else path)


def find_plan(document: Path, article: Article, name: str, scale: str) -> Path:
    """NAME-SCALE.toml, or NAME.toml where there is one scale only: in the folder of the article's name next to the
    document, next to it, or where bakeoff keeps those of its own."""
    own = document.parent
    above = document.absolute().parent.parent if own == Path() else own.parent
    folders = (own / article.article, own, above / "plans/articles" / article.article)
    for folder in folders:
        for file in (f"{name}-{scale}.toml", f"{name}.toml"):
            if (folder / file).is_file():
                return folder / file
    known = [
        path.stem.removesuffix(f"-{scale}") for folder in folders for path in sorted(folder.glob(f"*-{scale}.toml"))
    ]
    hint = meant(name, known) or f"write {folders[0] / name}-{scale}.toml, or {folders[1] / name}.toml"
    raise PlanError(f"there is no plan `{name}` of the scale {scale}", where=str(document), hint=hint)
