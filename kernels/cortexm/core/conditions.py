# SPDX-License-Identifier: MIT
"""Named conditions of the specs of this library."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

from aidge_build.contract.kernel_kit.conditions import BYTES_OR_HALFWORDS
from aidge_build.contract.kernel_kit.linear_int8 import FIXED_FORM, quantized_spec
from aidge_build.contract.kernel_kit.linear_int16 import GROUPS_OF_4
from aidge_build.contract.spec import CHANNELS_LAST, ImplSpec, NodeView, Predicate

Choice = TypeVar("Choice")
GROUP = 4  # output channels that are computed together
FEATURES = frozenset({"dsp"})


def has_fpu(view: NodeView) -> bool:
    """Whether the core of the build has an FPU."""
    return "fpu" in view.features


def in_text(most: Mapping[str, Choice], view: NodeView) -> Choice:
    """How much of a loop stands in the text at the build's --optimize. Chips without an FPU have little flash: "compact" is what
    is balanced there."""
    is_compact = view.objective == "balanced" and not has_fpu(view) and "compact" in most
    return most["compact" if is_compact else view.objective]


@dataclass(frozen=True)
class Loop:
    """A loop whose steps have `step_bytes` of code; `most` steps are in the text at each --optimize."""

    step_bytes: int
    most: Mapping[str, int]

    def steps(self, view: NodeView) -> int:
        """Returns how many steps the text holds: not more than the board's cache of code keeps."""
        steps = in_text(self.most, view)
        return min(steps, max(view.loop_bytes // self.step_bytes, 1)) if view.loop_bytes else steps


def wants_short(view: NodeView) -> bool:
    """Whether a byte of constants is worth more than a few instructions of a group of sums."""
    return view.objective == "size"


def _outputs_or_few(view: NodeView) -> str:
    """Few outputs have a text of their own, of some hundred bytes."""
    return "" if has_fpu(view) and not wants_short(view) else GROUPS_OF_4.rejection(view)


def _group_or_few(view: NodeView) -> str:
    (output,) = (view.layer.whole if view.layer else view).outputs
    is_pixel = output.elements == output.dims[1]
    return GROUPS_OF_4.rejection(view) if is_pixel else _outputs_or_few(view)


def _no_quads(view: NodeView) -> str:
    channels = view.inputs[0].dims[1]
    return "" if channels % 4 == 0 else f"{channels} input channels, wants a multiple of 4"


def _quads_or_few(view: NodeView) -> str:
    return "" if view.outputs[0].dims[1] < GROUP else _no_quads(view)


def _not_whole(view: NodeView) -> str:
    whole = view.layer.whole if view.layer else view
    window, image, result = whole.operator.window, whole.inputs[0].dims[2:], whole.outputs[0].dims[2:]
    seen = all(begin + size <= taps for begin, size, taps in zip(window.pads_begin, image, window.kernel))
    if set(result) != {1} or not seen or any(step > 1 for step, taps in zip(window.dilations, window.kernel) if taps > 1):
        return f"the window does not see the whole image of {'x'.join(map(str, image))} at once"
    return ""


def keeps_words_of_groups(view: NodeView) -> bool:
    """Whether the channels of each group are a multiple of 4."""
    return all(tensor.dims[1] // view.operator.groups % 4 == 0 for tensor in (view.inputs[0], view.outputs[0]))


ANY_CHANNELS = Predicate("at least 4 output channels, or with an FPU several pixels, but not --optimize size", _group_or_few)
FEW_OUTPUTS = Predicate("at least 4 outputs, or with an FPU fewer, but not --optimize size", _outputs_or_few)
QUADS_OF_CHANNELS = Predicate("a multiple of 4 input channels", _no_quads)
WHOLE_IMAGE = Predicate("one window, which sees the whole image", _not_whole)
QUADS_OR_FEW = Predicate("a multiple of 4 input channels, or fewer than 4 output channels", _quads_or_few)


def linear_spec(*predicates: Predicate, form: str = CHANNELS_LAST, channels: Predicate = GROUPS_OF_4) -> ImplSpec:
    """int8 or int16 weights; DSP. Under both contracts."""
    return quantized_spec(form, BYTES_OR_HALFWORDS, channels, *predicates, FIXED_FORM, features=FEATURES, rounding="any")
