# SPDX-License-Identifier: MIT
"""The words of `--state` for the inputs and outputs of one model."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from aidge_build.base.errors import AidgeError

AUTO = "auto"
# How exporters begin the name of a cache's next value, and of its input; the rest of both names is the same.
_CACHES = (("present_key_values", "past_key_values"), ("present", "past_key_values"), ("present", "past"))
_COUNTED = ("attention_mask", "position_ids", "cache_position")


@dataclass(frozen=True)
class WantedStates:
    """`pairs` maps outputs to the inputs of the next inference; `counted` are inputs that count inferences."""

    pairs: Mapping[str, str] = field(default_factory=dict)
    counted: tuple[str, ...] = ()


def wanted_states(words: Mapping[str, str], inputs: Sequence[str], outputs: Sequence[str]) -> WantedStates:
    """Returns the states that `words` name: OUTPUT to INPUT (one `*` in both is the same text), an input alone (to ""), or auto.

    A pair that names both ends precedes a pattern, and a pattern auto, in any order of the words. AidgeError (STATE) if a pattern
    or auto fits no name, or two patterns differ about an output.
    """
    pairs: dict[str, str] = {}
    of_patterns: dict[str, str] = {}
    counted: list[str] = []
    for output, source in sorted(words.items(), key=lambda word: (word[0] == AUTO, "*" in word[0] and word[0] not in outputs)):
        if output == AUTO and not source:
            found = _exporters_pairs(inputs, outputs)
            counted += [name for name in _COUNTED if name in inputs]
        elif not source:
            found = {}
            counted.append(output)
        elif "*" in output and output not in outputs:
            of_pattern = _by_pattern(output, source, inputs, outputs)
            found = {name: read for name, read in of_pattern.items() if name not in words}
            _require_same(of_patterns, found)
            of_patterns |= found
        else:
            found = {output: source}
        pairs |= {name: read for name, read in found.items() if name not in pairs}
    return WantedStates(pairs, tuple(dict.fromkeys(counted)))


def _require_same(known: Mapping[str, str], found: Mapping[str, str]) -> None:
    for output, source in found.items():
        other = known.get(output, source)
        if other != source:
            hint = f"name the pair: --state {output}={source}"
            raise AidgeError(
                f"two patterns pair output '{output}', with '{other}' and '{source}'", where="--state", code="STATE", hint=hint
            )


def _exporters_pairs(inputs: Sequence[str], outputs: Sequence[str]) -> dict[str, str]:
    found = {}
    for output in outputs:
        names = [before + output[len(after) :] for after, before in _CACHES if output.startswith(after)]
        source = next((name for name in names if name in inputs), None)
        if source is not None:
            found[output] = source
    if not found:
        raise AidgeError(
            "no output 'present...' has an input 'past_key_values...' or 'past...' with the same end",
            where=f"--state {AUTO}",
            tried=list(outputs),
            code="STATE",
            hint="name the pairs: --state OUTPUT=INPUT",
        )
    return found


def _by_pattern(output: str, source: str, inputs: Collection[str], outputs: Sequence[str]) -> dict[str, str]:
    where = f"--state {output}={source}"
    if output.count("*") != 1 or source.count("*") != 1:
        raise AidgeError("a pattern has one * in the output and one in the input", where=where, code="STATE")
    first, last = output.split("*")
    found = {}
    for name in outputs:
        if len(name) >= len(first) + len(last) and name.startswith(first) and name.endswith(last):
            found[name] = source.replace("*", name[len(first) : len(name) - len(last)])
    if not found:
        raise AidgeError(f"no output fits '{output}'", where=where, tried=list(outputs), code="STATE")
    missing = next((name for name in found.values() if name not in inputs), None)
    if missing is not None:
        raise AidgeError(f"the model has no input '{missing}'", where=where, tried=list(inputs), code="STATE")
    return found
