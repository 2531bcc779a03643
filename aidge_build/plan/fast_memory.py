# SPDX-License-Identifier: MIT
"""Constants of layers and functions that leave flash for a faster memory: the file that `explain --place auto` writes, and that
every build with `--place FILE` reads. Its header names the model and the options, the board among them, that it was made for."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from aidge_build.base.errors import AidgeError
from aidge_build.base.reading import require_shape, toml_of

CODE = "PLACE"
REMEDY = "`explain --place auto` writes it"
AUTO = "auto"
_SHAPE = {
    "model_sha256": str,
    "options": [str],
    "memory": [{"name": str, "bytes": int}],
    "constants?": [{"layer": str, "memory": str}],
    "code?": [{"layer?": str, "function?": str, "memory": str}],
}
_KEYS = {key.removesuffix("?") for key in _SHAPE}
_FUNCTION = re.compile(r"[A-Za-z_]\w{0,400}", re.ASCII)
Places = tuple[tuple[str, str], ...]  # (what is moved, memory)


@dataclass(frozen=True)
class FastMemory:
    """`rooms` are the memories and the bytes that may be taken of each. Pairs (name, memory) say what moves: `constants` all
    constants of a node, `layers` the own function of a node, `functions` a function of kernels. `words` are the options of the
    command that are no paths, the board among them."""

    model_sha256: str
    words: tuple[str, ...]
    rooms: tuple[tuple[str, int], ...]
    constants: Places = ()
    layers: Places = ()
    functions: Places = ()


def read_fast_memory(data: bytes, where: str) -> FastMemory:
    """Returns the value of a file's bytes; AidgeError (PLACE) for any other file."""
    table = toml_of(data, where, CODE)
    require_shape(table, _SHAPE, where, CODE, REMEDY)
    unknown = sorted(table.keys() - _KEYS)
    if unknown:
        raise _error(f"nothing reads {unknown[0]!r}", where)
    rooms = tuple((memory["name"], memory["bytes"]) for memory in table["memory"])
    constants, code = table.get("constants", []), table.get("code", [])
    names = [("layer", one) for one in constants] + [("layer" if "layer" in one else "function", one) for one in code]
    for key, one in names:
        _require_entry(one, key, dict(rooms).keys(), where)
    found = FastMemory(
        table["model_sha256"],
        tuple(table["options"]),
        rooms,
        tuple((one["layer"], one["memory"]) for one in constants),
        tuple((one["layer"], one["memory"]) for one in code if "layer" in one),
        tuple((one["function"], one["memory"]) for one in code if "function" in one),
    )
    if any(len(dict(places)) < len(places) for places in (found.constants, found.layers, found.functions, rooms)):
        raise _error("an entry is there twice", where)
    return found


def _require_entry(entry: dict[str, str], key: str, memories: Collection[str], where: str) -> None:
    if entry.keys() != {key, "memory"} or (key == "function" and not _FUNCTION.fullmatch(entry[key])):
        raise _error(f"an entry names neither one layer nor one function: {entry}", where)
    if entry["memory"] not in memories:
        raise _error(f"{entry[key]} is in memory {entry['memory']}, which has no [[memory]] entry", where)


def text_of(fast: FastMemory, comments: Sequence[str]) -> str:
    """Returns the text of the file, comments first."""
    head = [f"model_sha256 = {_quoted(fast.model_sha256)}", f"options = [{', '.join(map(_quoted, fast.words))}]"]
    memories = [f"\n[[memory]]\nname = {_quoted(name)}\nbytes = {size}" for name, size in fast.rooms]
    entries = [
        f"\n[[{table}]]\n{key} = {_quoted(name)}\nmemory = {_quoted(memory)}"
        for table, key, places in (
            ("constants", "layer", fast.constants),
            ("code", "layer", fast.layers),
            ("code", "function", fast.functions),
        )
        for name, memory in places
    ]
    return "\n".join([*(f"# {comment}" for comment in comments), *head, *memories, *entries, ""])


def require_made_for(fast: FastMemory, model_sha256: str, words: Sequence[str], nodes: Collection[str]) -> None:
    """Raises AidgeError (PLACE) if the file is of another model or of other options, or names a layer that the model does not
    have."""
    if fast.model_sha256 != model_sha256:
        raise _error(f"made for the model with SHA-256 {fast.model_sha256[:12]}, this one has {model_sha256[:12]}", "--place")
    if sorted(fast.words) != sorted(words):
        only = [f"with {_joined(set(fast.words) - set(words))}"] if set(fast.words) - set(words) else []
        only += [f"without {_joined(set(words) - set(fast.words))}"] if set(words) - set(fast.words) else []
        raise _error(f"made {' and '.join(only)}", "--place")
    unknown = next((name for name, _ in (*fast.constants, *fast.layers) if name not in nodes), None)
    if unknown is not None:
        raise not_made_for(f"names the layer {unknown!r}, which the model does not have")


def not_made_for(what: str) -> AidgeError:
    """Returns the error for a file that does not fit the model; `what` begins with a verb."""
    return _error(what, "--place")


def _joined(words: Iterable[str]) -> str:
    return " ".join(sorted(words))


def _quoted(text: str) -> str:
    """Returns a TOML string: TOML has no surrogate pairs for characters beyond the first plane."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _error(what: str, where: str) -> AidgeError:
    return AidgeError(what, where=where, code=CODE, hint=REMEDY)
