# SPDX-License-Identifier: MIT
"""QuantizeLinear of many floats without an FPU: a guess from the pattern of the float, and the key of one step."""

from __future__ import annotations

from typing import ClassVar

import numpy

from aidge_build.contract.call import Call, Constant, Input, Literal, Output, computed
from aidge_build.contract.kernel_kit.conditions import CONSTANT_PARAMETERS
from aidge_build.contract.node import KernelNode
from aidge_build.contract.spec import ANY, SAME, ImplSpec, IOSpec, NodeView, Predicate
from aidge_build.graph.dtype import DType
from aidge_build.operators.arithmetic.float_thresholds import KeyGuess, key_guess, quantize_keys

PARAMETERS = "const float *input, int8_t *output, const int32_t *keys, const int32_t *numbers, int32_t count"
FEWEST_VALUES = 64  # that pay for the keys
LEVELS = 256
_MOST_SHIFT = 255  # that an instruction takes from a register


def _few(view: NodeView) -> str:
    count = view.outputs[0].elements
    return "" if count >= FEWEST_VALUES else f"{count} values, wants at least {FEWEST_VALUES}"


def _other_core(view: NodeView) -> str:
    return "the core has an FPU" if "fpu" in view.features else ""


def _least_flash(view: NodeView) -> str:
    return "" if view.objective != "size" else "it needs a table of 1 KB (--optimize size)"


def _no_guess(view: NodeView) -> str:
    if view.inputs[1].elements > 1:
        return "several scales"
    return "" if _guess(view) is not None else "no guess from the pattern of a float is proved"


def _quantization(view: NodeView):
    return view.operator.quantization(view.inputs[1], view.inputs[2] if len(view.inputs) > 2 else None)


def _guess(view: NodeView) -> KeyGuess | None:
    quantization = _quantization(view)
    found = key_guess(quantization, quantize_keys(quantization, DType.int8), LEVELS - 1)
    return found if found is not None and found.shift <= _MOST_SHIFT else None


def guess_spec(features: frozenset[str]) -> ImplSpec:
    """Returns the spec of float32 to int8 with one scale, on a core without an FPU."""
    return ImplSpec(
        inputs=(IOSpec(DType.float32, SAME), IOSpec(DType.float32, ANY), IOSpec(DType.int8, ANY)),
        outputs=(IOSpec(DType.int8, SAME),),
        features=features,
        predicates=(
            CONSTANT_PARAMETERS,
            Predicate("no FPU", _other_core),
            Predicate(f"at least {FEWEST_VALUES} values", _few),
            Predicate("room for a table", _least_flash),
            Predicate("one scale with a guess that is proved", _no_guess),
        ),
    )


class QuantizeByGuess(KernelNode):
    """A library's subclass gives the `text` of its `function`."""

    function: ClassVar[str]

    def text(self) -> str:
        """The function with these PARAMETERS."""
        raise NotImplementedError

    def call(self) -> Call:
        quantization, guess = _quantization(self.view), _guess(self.view)
        assert guess is not None
        steps = quantize_keys(quantization, DType.int8)
        keys = numpy.append(steps, numpy.int32(2**31 - 1))  # which no number reaches
        last = (guess.first + guess.span >> 24) - 1  # exponent, as floats store it
        numbers = [guess.shift, last, guess.multiplier, guess.start, quantization.zero_point]
        return Call(
            self.function,
            ("core/target.h",),
            (
                Input(0),
                Output(0),
                Constant("keys", keys ^ numpy.int32(-(2**31))),
                Constant("numbers", numpy.array(numbers, numpy.int64).astype(numpy.uint32).view(numpy.int32)),
                Literal(self.outputs[0].elements),
            ),
            texts=(self.text(),),
            facts=computed("1 value"),
        )
