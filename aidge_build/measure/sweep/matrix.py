# SPDX-License-Identifier: MIT
"""The matrix of a sweep: models, boards and option sets, from the tables of a TOML file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from aidge_build.base.errors import AidgeError
from aidge_build.base.naming import counted
from aidge_build.base.reading import LARGEST_TEXT_BYTES, read_regular, require_shape, toml_of
from aidge_build.base.settings import guess
from aidge_build.measure.sweep.option_sets import CODE, OptionSet, option_sets, words_of_table
from aidge_build.sources.formats import suffixes

_SHAPE = {"models?": [(str, dict)], "boards?": [str], "build?": bool, "measure?": bool, "options?": dict, "vary?": dict}
_MODEL_SHAPE = {
    "file": str,
    "name?": str,
    "task?": str,
    "labels?": str,
    "samples?": str,
    "options?": dict,
    "sets?": [str],
}
_PATHS = ("file", "labels", "samples")
_PAGE = "docs/sweep.md describes the file"


@dataclass(frozen=True)
class SweptModel:
    """A model's file; models with the same `task` are compared, `labels` are samples with the true answers, `samples` are the
    samples for quantization. `words` hold for all sets. Only `sets` are used, () means all sets."""

    name: str
    file: Path
    task: str
    labels: Path | None = None
    samples: Path | None = None
    words: tuple[str, ...] = ()
    sets: tuple[str, ...] = ()


@dataclass(frozen=True)
class Matrix:
    """Everything that is combined, each sorted by name; no `boards` means all boards. `build`: programs are linked for each
    board; `measure`: instructions are counted on emulated cores."""

    models: tuple[SweptModel, ...]
    boards: tuple[str, ...]
    sets: tuple[OptionSet, ...]
    build: bool = False
    measure: bool = False

    def pairs(self) -> tuple[tuple[SweptModel, OptionSet], ...]:
        """Returns each model with each of its sets."""
        return tuple((model, one) for model in self.models for one in self.sets if not model.sets or one.base in model.sets)


def read_matrix(path: Path) -> dict:
    """Returns the tables of a description, each model a table, and paths relative to the working folder."""
    where = str(path)
    settings = toml_of(read_regular(path, LARGEST_TEXT_BYTES, CODE), where, CODE)
    _require(settings, _SHAPE, where)
    models = [entry if isinstance(entry, dict) else {"file": entry} for entry in settings.get("models", [])]
    for entry in models:
        _require(entry, _MODEL_SHAPE, f"{where}: models")
        entry.update({key: str(path.parent / entry[key]) for key in _PATHS if key in entry})
    return {**settings, "models": models}


def matrix_of(settings: Mapping, where: str) -> Matrix:
    """Returns the matrix of such tables: files found, options read, names made. AidgeError names the fault and its place."""
    models = [model for entry in settings.get("models", ()) for model in _models(entry, where)]
    if not models:
        raise AidgeError("there is no model", where=where, code=CODE, hint="models = ['*.onnx'], or files on the command line")
    _require_distinct([model.name for model in models], "models", where)
    sets = option_sets(settings.get("options", {}), settings.get("vary", {}), where)
    _require_distinct([one.name for one in sets], "option sets", where)
    matrix = Matrix(
        tuple(sorted(models, key=lambda model: model.name)),
        tuple(sorted(set(settings.get("boards", ())))),
        sets,
        settings.get("build", False),
        settings.get("measure", False),
    )
    _require_possible(matrix, where)
    return matrix


def _require_possible(matrix: Matrix, where: str) -> None:
    """Sets that models name are there; models that sets quantize have samples."""
    known = sorted({one.base for one in matrix.sets})
    for model in matrix.models:
        for name in sorted(set(model.sets).difference(known)):
            raise AidgeError(
                f"there is no option set '{name}'",
                where=f"{where}: model '{model.name}'",
                tried=known,
                code=CODE,
                hint="sets = [...] names tables of [options]",
            )
    for model, one in matrix.pairs():
        if one.quantizes and model.samples is None:
            raise AidgeError(
                f"option set '{one.name}' quantizes, and this model has no samples",
                where=f"{where}: model '{model.name}'",
                code=CODE,
                hint="samples = 'F.npz' of the model names them; its sets = [...] leaves the set out",
            )


def _models(entry: Mapping, where: str) -> list[SweptModel]:
    """Returns the models of an entry, one for each file that its pattern matches."""
    text, files = entry["file"], _matching(entry["file"])
    if not files:
        raise AidgeError(f"no model matches '{text}'", where=where, code=CODE, hint="patterns begin at the folder of this file")
    if "name" in entry and len(files) > 1:
        raise AidgeError(
            f"one name for {counted(len(files), 'file')}", where=f"{where}: '{text}'", code=CODE, hint="leave out 'name'"
        )
    words, scheme = words_of_table(entry.get("options", {}), f"{where}: options of '{text}'")
    if scheme:
        raise AidgeError("how to quantize belongs to a set", where=f"{where}: '{text}'", code=CODE, hint="[options.NAME]")
    name = entry.get("name", "")
    return [
        SweptModel(
            name=name or file.stem,
            file=file,
            task=entry.get("task") or (name or file.stem if len(files) == 1 else Path(text).stem),
            labels=Path(entry["labels"]) if "labels" in entry else None,
            samples=Path(entry["samples"]) if "samples" in entry else None,
            words=words,
            sets=tuple(entry.get("sets", ())),
        )
        for file in files
    ]


def _matching(text: str) -> list[Path]:
    path = Path(text)
    if path.is_file() or not set("*?[") & set(text):
        return [path]
    root = Path(path.anchor)
    found = root.glob(str(path.relative_to(root)))
    return sorted(one for one in found if one.is_file() and one.suffix in suffixes())


def _require(table: object, shape: Mapping, where: str) -> None:
    keys = {key.removesuffix("?") for key in shape}
    for key in sorted(set(table).difference(keys)) if isinstance(table, dict) else ():
        hint = f"{guess(key, keys)}Keys: {', '.join(sorted(keys))}"
        raise AidgeError(f"unknown key '{key}'", where=where, hint=hint, code=CODE)
    require_shape(table, shape, where, CODE, _PAGE)


def _require_distinct(names: Iterable[str], what: str, where: str) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise AidgeError(
                f"two {what} are called '{name}'", where=where, code=CODE, hint="name = '...' in the table of a model names it"
            )
        seen.add(name)
