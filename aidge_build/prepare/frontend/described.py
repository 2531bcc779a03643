# SPDX-License-Identifier: MIT
"""Adds the front end and the decision that a file describes to a model: the tables `audio` or `image`, and `decision`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any

from aidge_build.base.errors import AidgeError
from aidge_build.prepare.frontend.audio import LogMel
from aidge_build.prepare.frontend.audio_nodes import fixed_for, with_audio
from aidge_build.prepare.frontend.decision import with_decision
from aidge_build.prepare.frontend.image import Pixels, with_image

Files = Mapping[str, bytes]
_AUDIO = {"hops": int, "integers": bool}  # and the parameters of LogMel
_IMAGE = {"layout": str}  # and the parameters of Pixels
_DECISION = {"average": int, "label": bool, "scores": bool, "output": str}


def described(model: bytes, recipe: Mapping[str, Any], name: str, where: str, external: Files) -> bytes:
    """Returns the model's file with the nodes of the recipe around it; AidgeError names `where`, the recipe."""
    known: dict[str, Callable[[bytes, dict[str, Any]], bytes]] = {
        "audio": lambda data, words: _with_audio(data, words, name, external),
        "image": lambda data, words: _with_image(data, words, name, external),
        "decision": lambda data, words: with_decision(data, name=name, external=external, **_checked(words, _DECISION)),
    }
    if not recipe or not set(recipe) <= set(known) or {"audio", "image"} <= set(recipe):
        raise AidgeError(f"has the tables {sorted(recipe)}", where=where, code="FRONTEND", tried=sorted(known))
    for table, around in known.items():
        if table in recipe:
            if not isinstance(recipe[table], dict):
                raise AidgeError(f"{table} is no table", where=where, code="FRONTEND")
            try:
                model = around(model, dict(recipe[table]))
            except AidgeError as error:
                raise error.within(f"{where}: {table}") from error
    return model


def _with_audio(data: bytes, words: dict[str, Any], name: str, external: Files) -> bytes:
    own = _checked({key: words.pop(key) for key in _AUDIO if key in words} | _input(words), {**_AUDIO, "input": str})
    given_input, hops, integers = own.get("input", ""), own.get("hops", 0), own.get("integers", True)
    front = LogMel(**_checked(words, {entry.name: object for entry in fields(LogMel)}))
    given = {"input": given_input, "name": name, "external": external}
    return with_audio(data, fixed_for(data, front, **given) if integers else front, hops=hops, **given)


def _with_image(data: bytes, words: dict[str, Any], name: str, external: Files) -> bytes:
    own = _checked({key: words.pop(key) for key in _IMAGE if key in words} | _input(words), {**_IMAGE, "input": str})
    parameters = _checked(words, {entry.name: object for entry in fields(Pixels)})
    lists: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in parameters.items()}
    _require(all(isinstance(lists.get(key, 1), int) for key in ("height", "width", "channels")), "height and width are numbers")
    _require(isinstance(lists.get("gray", False), bool), "gray is true or false")
    _require({"height", "width"} <= set(lists), "has no height and width")
    sizes = {"crop": 4, "size": 2}
    for key, values in lists.items():
        is_row = isinstance(values, tuple) and all(isinstance(value, int | float) for value in values)
        _require(
            key not in (*sizes, "mean", "deviation") or is_row and len(values) == sizes.get(key, len(values)), f"{key}: {values}"
        )
    return with_image(data, Pixels(**lists), name=name, external=external, **own)


def _input(words: dict[str, Any]) -> dict[str, Any]:
    return {"input": words.pop("input")} if "input" in words else {}


def _require(condition: bool, what: str) -> None:
    if not condition:
        raise AidgeError(what, code="FRONTEND")


def _checked(words: dict[str, Any], known: Mapping[str, type]) -> dict[str, Any]:
    """Returns the entries, after a check that each is known and of its type."""
    for key, value in words.items():
        if key not in known:
            raise AidgeError(f"nothing is called '{key}'", code="FRONTEND", tried=sorted(known))
        _require(known[key] is object or type(value) is known[key], f"{key} is {value!r}, wants {known[key].__name__}")
    return words
