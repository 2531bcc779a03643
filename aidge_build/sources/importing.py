# SPDX-License-Identifier: MIT
"""From the bytes of a model's file to a graph, whatever its format."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from aidge_build.base.errors import AidgeError
from aidge_build.graph.view import GraphView
from aidge_build.sources.formats import format_of, formats
from aidge_build.sources.other_files import TAIL_BYTES, refuse_other_files
from aidge_build.sources.source_format import ModelFile, SourceFormat, a_model
from aidge_build.sources.state import with_states
from aidge_build.sources.wanted_states import wanted_states

# Option that some formats have no use for -> what is said of a model of these.
_REFUSED = {"signature": "has one graph", "bind": "has no open dimension"}


def refuse_other_models(head: bytes, tail: bytes) -> None:
    """Refuses a large file that is known to be no model, with its real format, given its first and last bytes."""
    found = format_of(head)
    if found.is_last:
        refuse_other_files(head, tail, found.title)


def files_beside(data: bytes, name: str) -> tuple[str, ...]:
    """The relative paths of the files that hold weights of this model, sorted.

    AidgeError for a file that its name says to be of a format, and its content not.
    """
    found = format_of(data)
    named = next((one for one in formats() if name.lower().endswith(one.suffix)), found)
    if found.is_last and named is not found:
        refuse_other_files(data, data[-TAIL_BYTES:], named.title)
        raise AidgeError(
            f"not {a_model(named.title)}: {named.lacks(data)}",
            code="MODEL_FILE",
            hint="name the file that the converter wrote, not one that a vendor's tool has packed or encrypted",
        )
    return found.files_beside(data)


def import_file(file: ModelFile) -> tuple[GraphView, tuple[str, ...]]:
    """The graph of a model's file with the states that the user names, and one-line notices."""
    found = format_of(file.data)
    try:
        _refuse_options(file, found)
        view, notices = found.read(file)
        return view if "state" in found.takes else _with_states(view, file.state), tuple(notices)
    except AidgeError as error:
        raise error.within(file.name)


def _with_states(view: GraphView, words: Mapping[str, str]) -> GraphView:
    wanted = wanted_states(words, view.inputs, view.outputs)
    if wanted.counted:
        raise AidgeError(
            f"wants OUTPUT={wanted.counted[0]}: only ONNX models have inputs that count", where="--state", code="STATE"
        )
    return with_states(view, wanted.pairs, {})


def _refuse_options(file: ModelFile, found: SourceFormat) -> None:
    for option, reason in _REFUSED.items():
        if getattr(file, option) and option not in found.takes:
            able = " and ".join(one.suffix for one in formats() if option in one.takes)
            raise AidgeError(f"--{option} is for {able} models: {a_model(found.title)} {reason}", code="USAGE")


def left_out(file: ModelFile, origins: Collection[str]) -> Iterable[str]:
    """Returns a line for each node and constant of the file that no layer comes from; `origins` are the names of the nodes that
    layers come from."""
    return format_of(file.data).left_out(file, origins)
