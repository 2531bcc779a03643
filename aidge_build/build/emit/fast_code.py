# SPDX-License-Identifier: MIT
"""Functions that `--place` moves to a faster memory: a section of their own, which the linker script places there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from aidge_build.build.emit.definitions import Item, items_of, parsed
from aidge_build.plan.fast_memory import not_made_for
from aidge_build.plan.program import Program


def memories_of_functions(program: Program) -> dict[str, str]:
    """Returns symbol -> memory of the functions of layers and kernels that are moved, sorted."""
    if program.fast is None:
        return {}
    return dict(sorted({**dict(program.fast.functions), **_memories_of_layers(program)}.items()))


def layer_sections(program: Program) -> dict[str, str]:
    """Returns symbol of a layer that is moved -> the specifier of its function."""
    return {symbol: _specifier(memory, symbol) for symbol, memory in _memories_of_layers(program).items()}


def _memories_of_layers(program: Program) -> dict[str, str]:
    memories = dict(program.fast.layers) if program.fast else {}
    return {layer.symbol: memories[layer.node.name] for layer in program.layers if layer.node.name in memories}


def functions_in(texts: Sequence[str]) -> frozenset[str]:
    """Returns the functions of kernels' texts that can be moved: the functions with a definition that is surely read."""
    return frozenset(item.name for text in texts for item in items_of(parsed(text)) if _is_function(item))


def in_sections(texts: Sequence[str], memories: Mapping[str, str]) -> list[str]:
    """The texts of kernels, with these functions in the sections of their memories; AidgeError (PLACE) for a function that no
    text defines."""
    missing = sorted(memories.keys() - functions_in(texts)) if memories else []
    if missing:
        raise not_made_for(f"names the function {missing[0]!r}, which no kernel of the model has")
    return [_moved(text, memories) for text in texts] if memories else list(texts)


def _moved(text: str, memories: Mapping[str, str]) -> str:
    place = 0
    for item in items_of(parsed(text)):
        if item.name in memories and _is_function(item):
            definition = "\n".join(item.lines[item.lead :])
            place = text.index(definition, place)
            text = f"{text[:place]}{_specifier(memories[item.name], item.name)}\n{text[place:]}"
            place += len(definition)
    return text


def _is_function(item: Item) -> bool:
    return item.stands_for is None and bool(item.name) and "{" in item.bare and "(" in item.head and "=" not in item.head


def _specifier(memory: str, function: str) -> str:
    return f'AIDGE_CODE_IN(".text.aidge_{memory}.{function}")'
