# SPDX-License-Identifier: MIT
"""A format of model files as a value: how its files are recognised, and how they become graphs."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from aidge_build.graph.view import GraphView
from aidge_build.operators.base import Operator
from aidge_build.sources.dims import Bound


@dataclass(frozen=True)
class ModelFile:
    """A model's file as bytes, and what the user says about it.

    `name` names the file in messages, and the graph. `operators` are the known operators by their ONNX names, libraries'
    operators included. `external` holds the other files with its weights, by the paths of `SourceFormat.files_beside`. `bind`,
    `signature` and `state` (output to input) are the options of these names, `contract` is the numerical contract of the build.
    """

    data: bytes
    name: str
    operators: Mapping[str, type[Operator]]
    bind: Mapping[str, Bound] = field(default_factory=dict)
    external: Mapping[str, bytes] = field(default_factory=dict)
    signature: str = ""
    contract: str = "onnx"
    state: Mapping[str, str] = field(default_factory=dict)


Read = Callable[[ModelFile], tuple[GraphView, Sequence[str]]]


@dataclass(frozen=True)
class SourceFormat:
    """A format of model files: a folder in `sources/formats/` defines one as `FORMAT` (docs/howto-format.md).

    `title` names the format in messages. `recognizes` is given the first bytes of a file, at least 64 KiB of a larger one;
    `read` makes the graph, and notices of one line each. All other fields have defaults.
    """

    title: str
    recognizes: Callable[[bytes], bool]
    read: Read
    rounding: str = "onnx"  # the value of --rounding for these files where the user gives none
    takes: tuple[str, ...] = ()  # the options among "bind", "signature" and "state" that `read` obeys
    files_beside: Callable[[bytes], tuple[str, ...]] = lambda data: ()  # relative paths of the files with its weights, sorted
    left_out: Callable[[ModelFile, Collection[str]], Iterable[str]] = lambda file, origins: ()  # for `compile -v`, a line each
    lacks: Callable[[bytes], str] = lambda data: f"its first bytes are {data[:8].hex(' ')}"  # where `recognizes` says no
    is_quantizable: bool = False  # whether --quantize reads it
    to_onnx: str = ""  # the command that converts such a file FILE to ONNX
    file_words: str = ""  # such a file in a sentence (default: "a .NAME file")
    is_last: bool = False  # files without a mark of their own: asked after all other formats
    name: str = ""  # of the folder, and the suffix of the format's files; the registry writes it

    @property
    def suffix(self) -> str:
        """The end of the names of its files, with the dot."""
        return f".{self.name}"

    @property
    def a_file(self) -> str:
        """The format's name in a sentence."""
        return self.file_words or f"a {self.suffix} file"


def a_model(title: str) -> str:
    """A model of the format with this title, in a sentence: `an ONNX model`."""
    return f"{'an' if title[0] in 'AEIO' else 'a'} {title} model"
