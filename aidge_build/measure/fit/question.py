# SPDX-License-Identifier: MIT
"""A question about a model and a board: bytes and words alone, so that it can be hashed, kept, and sent to another machine."""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from aidge_build.base.errors import AidgeError
from aidge_build.base.installed import board_folder
from aidge_build.base.options import MODEL, QUANTIZATION
from aidge_build.base.options.arguments import from_words, words_of
from aidge_build.base.options.option import Option
from aidge_build.base.reading import read_regular
from aidge_build.boards import load_board
from aidge_build.build.inputs import LARGEST_MODEL_BYTES, NAME_TO_LOOK_AT, load, read_folder, read_model_file

_MODEL_FOLDER = "model"
_OF_BOARDS = "board_path"
_TARGET = ("board", "cpu", "fpu")
Files = tuple[tuple[str, bytes], ...]  # relative path and content, sorted


@dataclass(frozen=True)
class Attached:
    """The files of an option with a path as value: `places` are the paths that it names, below the folder of `files`."""

    option: str  # as argparse calls it
    places: tuple[str, ...]
    files: Files
    libraries: tuple[str, ...] = ()  # of checkouts: the library before each place


@dataclass(frozen=True)
class Question:
    """A model (the first of `files`, with its external data), the words of its options that are no paths, the files of its other
    options, and the board by its name: a built-in one has no files here. The program is planned for the board; `build` asks for
    one that is linked for it, `measure` for the instructions that the emulated core executes."""

    files: Files
    words: tuple[str, ...]
    board: str
    attached: tuple[Attached, ...] = ()
    build: bool = False
    measure: bool = False

    @property
    def model(self) -> str:
        """The name of the model's file."""
        return self.files[0][0]

    @property
    def own_board(self) -> Attached | None:
        """The files of a board that is not built in."""
        return next((one for one in self.attached if one.option == _OF_BOARDS), None)


def read_question(arguments: argparse.Namespace, *, build: bool = False, measure: bool = False) -> Question:
    """Reads the files that the options of a model's command name; `arguments.board` is the board. AidgeError for an unreadable
    file."""
    return read_questions(arguments, [arguments.board], build=build, measure=measure)[0]


def read_questions(
    arguments: argparse.Namespace, boards: Sequence[str], *, build: bool = False, measure: bool = False
) -> list[Question]:
    """The same about several boards. A model that is quantized first is quantized once, and asked about as it is then."""
    arguments, files = _with_model(arguments)
    words = [word for word in words_of(arguments, MODEL.options) if not word.startswith(tuple(f"--{one}=" for one in _TARGET))]
    attached = tuple(_attachments(arguments))
    own = {board: own_files_of(board, arguments.board_path) for board in boards}
    return [
        Question(files, tuple(words), board, attached + ((found,) if found else ()), build, measure)
        for board, found in own.items()
    ]


def _with_model(arguments: argparse.Namespace) -> tuple[argparse.Namespace, Files]:
    """The model with its external data, and the options that still say something of it."""
    path = Path(arguments.model)
    if arguments.quantize is None:
        model, external = read_model_file(path)
        return arguments, ((path.name, model), *sorted(external.items()))
    request = load(argparse.Namespace(**{**vars(arguments), **dict.fromkeys(_TARGET)}), NAME_TO_LOOK_AT)
    said: dict[str, object] = {option.argument: [] if option.repeated else option.default or None for option in QUANTIZATION}
    return argparse.Namespace(**{**vars(arguments), **said, "bind": []}), ((path.name, request.model),)


def _attachments(arguments: argparse.Namespace) -> Iterator[Attached]:
    for option in MODEL.options:
        value = getattr(arguments, option.argument)
        if option.kind == "file" and value:
            yield Attached(option.argument, (Path(value).name,), ((Path(value).name, _content(Path(value))),))
        elif option.kind in ("folders", "checkouts") and value and option.argument != _OF_BOARDS:
            yield _folders(option, value)


def _content(path: Path) -> bytes:
    return read_regular(path, LARGEST_MODEL_BYTES)


def _folders(option: Option, values: Sequence[Path | str]) -> Attached:
    """Reads several folders, each below its number, because two may have the same name."""
    libraries, folders = [], []
    for value in values:
        library, _, folder = str(value).partition("=") if option.kind == "checkouts" else ("", "", str(value))
        if not os.path.isdir(folder):
            raise AidgeError("there is no such folder", where=f"--{option.name} {value}", code="USAGE")
        libraries.append(library)
        folders.append(Path(folder))
    places = [f"{number}/{folder.resolve().name}" for number, folder in enumerate(folders)]
    files = [
        (f"{place}/{path}", data)
        for place, folder in zip(places, folders, strict=True)
        for path, data in read_folder(folder).items()
    ]
    return Attached(option.argument, tuple(places), tuple(sorted(files)), tuple(libraries) if option.kind == "checkouts" else ())


def own_files_of(name: str, folders: Sequence[Path]) -> Attached | None:
    """Returns the files of a board that are not built in, below the folder that holds all of them; None if there are none."""
    board = load_board(name, folders)
    built_in = board_folder().resolve()
    own = {Path(path).resolve(): data for path, data in board.files.items()}
    own = {path: data for path, data in own.items() if built_in not in path.parents}
    if not own:
        return None
    searched = [Path(folder).resolve() for folder in folders]
    root = Path(os.path.commonpath([*(path.parent for path in own), *searched]))
    files = sorted((path.relative_to(root).as_posix(), data) for path, data in own.items())
    return Attached(_OF_BOARDS, tuple(folder.relative_to(root).as_posix() for folder in searched), tuple(files))


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """A folder that is gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="aidge-fit-", ignore_cleanup_errors=True) as name:
        yield Path(name)


@contextmanager
def opened(question: Question) -> Iterator[argparse.Namespace]:
    """The arguments of the command, while its files exist in a folder of their own. Pass refusals through `without_folder`
    meanwhile."""
    with temporary_folder() as folder:
        arguments = from_words(question.words, MODEL.options)
        vars(arguments).update(_paths(question, folder))
        arguments.model = str(folder / _MODEL_FOLDER / question.model)
        arguments.board = question.board
        _write(folder / _MODEL_FOLDER, question.files)
        yield arguments


@contextmanager
def board_folders(own: Attached | None) -> Iterator[list[Path]]:
    """The folders to look for a board in, while its files exist there."""
    if own is None:
        yield []
        return
    with temporary_folder() as folder:
        yield _placed(own, folder)


def _placed(attached: Attached, folder: Path) -> list[Path]:
    """Writes the attached files below the folder and returns the paths for the option. A folder may have no file that matters
    here."""
    _write(folder, attached.files)
    places = [folder / place for place in attached.places]
    for place in places:
        if not place.exists():
            place.mkdir(parents=True)
    return places


def _paths(question: Question, folder: Path) -> Mapping[str, object]:
    """Returns the options that name files, with their default if no file is attached."""
    found: dict[str, object] = {
        option.argument: [] if option.repeated else None
        for option in MODEL.options
        if option.kind in ("file", "folders", "checkouts")
    }
    for attached in question.attached:
        places = _placed(attached, folder / attached.option)
        if attached.libraries:
            found[attached.option] = [f"{library}={place}" for library, place in zip(attached.libraries, places, strict=True)]
        else:
            found[attached.option] = places if isinstance(found[attached.option], list) else str(places[0])
    return found


def _write(folder: Path, files: Files) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for path, data in files:
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)


def without_folder(arguments: argparse.Namespace, error: AidgeError) -> AidgeError:
    """Returns a refusal that names the files of `opened` as the question does, without the temporary folder."""
    folder = Path(arguments.model).parent
    while folder.name != _MODEL_FOLDER:
        folder = folder.parent
    for prefix in (f"{folder}{os.sep}", f"{folder.parent}{os.sep}"):
        error.where, error.what, error.hint = (text.replace(prefix, "") for text in (error.where, error.what, error.hint))
        error.tried = tuple(one.replace(prefix, "") for one in error.tried)
    return error
