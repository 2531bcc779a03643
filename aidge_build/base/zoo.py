# SPDX-License-Identifier: MIT
"""The models that come with the tool: `zoo:NAME` in a command is the file of one, `zoo:NAME/test.npz` its test samples."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from aidge_build.base.errors import AidgeError
from aidge_build.base.installed import zoo_folder
from aidge_build.base.reading import LARGEST_TEXT_BYTES, read_regular, require_shape, toml_of
from aidge_build.base.settings import guess

PREFIX, SAMPLES = "zoo:", "test.npz"
_CARD = "card.toml"
_SHAPE = {
    **dict.fromkeys(("title", "input", "output", "data", "licence", "script"), str),
    "simulated": bool,
    "measured": {"sha256": str, "seed": int, "seconds": (int, float), "figure": str},
}


@dataclass(frozen=True)
class Entry:
    """A folder with a card. The card may name files of another example; else they are NAME.onnx and test.npz of the folder."""

    name: str
    folder: Path
    card: dict[str, Any]

    @property
    def model(self) -> Path:
        """The file of the model."""
        return (self.folder / self.card.get("model", f"{self.name}.onnx")).resolve()

    @property
    def samples(self) -> Path:
        """Held-out samples with labels or targets."""
        return (self.folder / self.card.get("test", SAMPLES)).resolve()


def names() -> tuple[str, ...]:
    """The names of all entries, sorted."""
    return tuple(sorted(card.parent.name for card in zoo_folder().glob(f"*/{_CARD}")))


@cache
def entry(name: str) -> Entry:
    """The entry of this name; AidgeError with the names if there is none."""
    known = names()
    if name not in known:
        hint = f"{guess(name, known)}`aidge-build list zoo` lists them: {', '.join(known)}"
        raise AidgeError(f"there is no model '{name}' in the zoo", where=f"{PREFIX}{name}", hint=hint, code="USAGE")
    path = zoo_folder() / name / _CARD
    card = toml_of(read_regular(path, LARGEST_TEXT_BYTES), str(path), "INPUT")
    require_shape(card, _SHAPE, str(path), "INPUT", "`python -m tools.zoo` writes the table `measured`")
    return Entry(name, path.parent, card)


def of_model(path: Path) -> Entry | None:
    """The entry with this file of a model; None for all other files."""
    return next((one for one in map(entry, names()) if one.model == path.resolve()), None)


def samples_word(path: Path) -> str:
    """The word of a command for samples of a model: the file that comes with a model of the zoo, else a placeholder."""
    one = of_model(path)
    return f"{PREFIX}{one.name}/{SAMPLES}" if one else "F.npz"


def resolved(word: str) -> str:
    """The word of a command with the path of a file in place of `zoo:NAME` or `zoo:NAME/test.npz`, also after `--option=`."""
    option, found, name = word.partition(PREFIX)
    if not found or not (option == "" or (option.startswith("--") and option.endswith("="))):
        return word
    name, _, file = name.partition("/")
    if file not in ("", SAMPLES):
        raise AidgeError(f"a model of the zoo has no '{file}'", where=word, hint=f"{PREFIX}{name}/{SAMPLES}", code="USAGE")
    one = entry(name)
    return f"{option}{one.samples if file else one.model}"
