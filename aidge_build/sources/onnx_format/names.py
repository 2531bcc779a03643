# SPDX-License-Identifier: MIT
"""Metadata of files that this project writes: names for integer codes and columns, and which outputs are states."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace

from aidge_build.sources.onnx_format.model import OnnxModel, ValueInfo

KEY = "aidge_build.names"
STATES = "aidge_build.states"


def names_text(model: OnnxModel) -> str:
    """Returns the metadata text of the names; "" if no input or output has names."""
    found = {value.name: value.names for value in (*model.inputs, *model.outputs) if value.names}
    return json.dumps(found, sort_keys=True) if found else ""


def with_names(model: OnnxModel, text: str) -> OnnxModel:
    """Returns the model with these names; metadata is no part of a model's meaning, so text in another format changes nothing."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return model
    if not isinstance(found, dict) or not all(map(_is_list_of_words, found.values())):
        return model
    inputs, outputs = (tuple(_named(value, found) for value in side) for side in (model.inputs, model.outputs))
    return replace(model, inputs=inputs, outputs=outputs)


def _is_list_of_words(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(word, str) for word in value)


def _named(value: ValueInfo, found: Mapping[str, list[str]]) -> ValueInfo:
    return replace(value, names=tuple(found[value.name])) if value.name in found and value.holds == "numbers" else value


def states_text(states: Mapping[str, str]) -> str:
    """Returns the metadata text of the states; "" if there are none."""
    return json.dumps(dict(states), sort_keys=True) if states else ""


def with_states_of(model: OnnxModel, text: str) -> OnnxModel:
    """Returns the model with these states, output by input; text in another format changes nothing."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return model
    is_ours = isinstance(found, dict) and all(isinstance(source, str) for source in found.values())
    return replace(model, states=found) if is_ours else model
