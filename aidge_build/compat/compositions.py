# SPDX-License-Identifier: MIT
"""Names that the inherited libraries register alone: compositions of operators, and operators that this system does not have.

A composition is an operator with a Pad before it, a ReLU after it, or both. Here a composition is one node: pads belong to the
window, and a recipe folds the ReLU into the operator. So a kernel of a composition is a kernel of the operator, for the nodes
that have these pads and this clamp.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace

from aidge_build.compat.inherited import PADDED, PADDED_HANDLES
from aidge_build.contract.spec import ImplSpec, NodeView, Predicate

_NO_QUANTIZER = "no node is a Quantizer: here scales belong to tensors"
_WINDOWS = (
    "Conv1D",
    "Conv2D",
    "ConvDepthWise1D",
    "ConvDepthWise2D",
    "MaxPooling1D",
    "MaxPooling2D",
    "AvgPooling1D",
    "AvgPooling2D",
)
_CORES = (*_WINDOWS, "GlobalAveragePooling", "FC", "Add", "Sub", "Mul", "Div", "Pow")
_SAME_TYPE = {"GlobalAveragePooling1D": "GlobalAveragePooling", "GlobalAveragePooling2D": "GlobalAveragePooling"}

# The compositions that libraries register by a name alone, as the chains of operators that they mean.
KNOWN = {
    "AddAct": "Add->ReLU",
    "AvgPoolAct": "AvgPooling2D->ReLU",
    "ConvAct": "Conv2D->ReLU",
    "ConvDwAct": "ConvDepthWise2D->ReLU",
    "DivAct": "Div->ReLU",
    "FCAct": "FC->ReLU",
    "GlobalAvgPoolAct": "GlobalAveragePooling->ReLU",
    "MaxPoolAct": "MaxPooling2D->ReLU",
    "MulAct": "Mul->ReLU",
    "PadAvgPool": "Pad->AvgPooling2D",
    "PadAvgPoolAct": "Pad->AvgPooling2D->ReLU",
    "PadConv": "Pad->Conv2D",
    "PadConvAct": "Pad->Conv2D->ReLU",
    "PadConvDw": "Pad->ConvDepthWise2D",
    "PadConvDwAct": "Pad->ConvDepthWise2D->ReLU",
    "PadGlobalAvgPool": "Pad->GlobalAveragePooling",
    "PadGlobalAvgPoolAct": "Pad->GlobalAveragePooling->ReLU",
    "PadMaxPool": "Pad->MaxPooling2D",
    "PadMaxPoolAct": "Pad->MaxPooling2D->ReLU",
    "QAdd": "Add->Quantizer",
    "QAddAct": "Add->Quantizer->ReLU",
    "QConv": "Conv2D->Quantizer",
    "QConvDw": "ConvDepthWise2D->Quantizer",
    "QDiv": "Div->Quantizer",
    "QDivAct": "Div->Quantizer->ReLU",
    "QFC": "FC->Quantizer",
    "QMul": "Mul->Quantizer",
    "QMulAct": "Mul->Quantizer->ReLU",
    "QReLU": "ReLU->Quantizer",
    "QSub": "Sub->Quantizer",
    "QSubAct": "Sub->Quantizer->ReLU",
    "Quantizer": "Quantizer",
    "SubAct": "Sub->ReLU",
}
_SPIKING = "no operator of ONNX is one"
# Inherited types that no node here has, and why.
SLEEPING = {
    "Producer": "constants are tensors here, not nodes",
    "Memorize": "what a model remembers is an input and an output here",
    "Pop": "loops are written out while a file is read",
    "Stack": "loops are written out while a file is read",
    "ComplexToInnerPair": "no tensor here has complex elements",
    "InnerPairToComplex": "no tensor here has complex elements",
    "DFT": "no tensor here has complex elements",
    "SDLayerNorm": _SPIKING,
    "SDShiftGELU": _SPIKING,
    "SDShiftSiLU": _SPIKING,
    "SDShiftmax": _SPIKING,
    "Scatter": "it is a ScatterElements or ScatterND here",
    "Select": _SPIKING,
    "Unfold2D": _SPIKING,
}
_PADDED_NAME = re.compile(r"Padded((?:Conv|ConvDepthWise|MaxPooling|AvgPooling)[123]D)")
_STEP = re.compile(r"([A-Za-z_]\w*)(\??)")


def _is_rectified(view: NodeView) -> str:
    bounds = getattr(view.operator, "minimum", -math.inf), getattr(view.operator, "maximum", math.inf)
    return "" if bounds == (0, math.inf) else "has no ReLU behind it"


RECTIFIED = Predicate("has a ReLU behind it", _is_rectified)


@dataclass(frozen=True)
class Composition:
    """An operator's type with pads, a ReLU, or both."""

    type: str
    is_padded: bool
    is_rectified: bool

    def spec(self, spec: ImplSpec) -> ImplSpec:
        """The spec for the nodes that are the composition."""
        conditions = (PADDED,) * self.is_padded + (RECTIFIED,) * self.is_rectified
        return replace(spec, predicates=(*spec.predicates, *conditions))

    @property
    def handles(self) -> frozenset[str]:
        """The conditions of `compat.inherited` that a kernel of the composition handles."""
        return (PADDED_HANDLES if self.is_padded else frozenset()) | ({"clamp"} if self.is_rectified else frozenset())


def _known_chain(name: str) -> str:
    padded = _PADDED_NAME.fullmatch(name)
    return KNOWN.get(name) or (f"Pad->{padded[1]}" if padded else "")


def composition_of(name: str, recipe: str = "") -> Composition | str | None:
    """Returns the composition that a meta-operator's name, or its recipe (a pattern), means.

    A text says why no node here ever is this composition. None: the recipe is a pattern of another kind, or there is no recipe.
    """
    chain = recipe or _known_chain(name)
    steps = [_STEP.fullmatch(step.strip()) for step in chain.split("->")]
    if None in steps:
        return _NO_QUANTIZER if re.search(r"\bQuantizer\b(?!\?)", chain) else None
    names = [step[1] for step in steps if step.groups() != ("Quantizer", "?")]
    if "Quantizer" in names:
        return _NO_QUANTIZER
    is_padded, is_rectified = names[0] in ("Pad", "Pad1D", "Pad2D"), names[-1] == "ReLU"
    core = names[is_padded : len(names) - is_rectified]
    core = [_SAME_TYPE.get(name, name) for name in core]
    if len(core) != 1 or core[0] not in _CORES or not (is_padded or is_rectified):
        return None
    if is_padded and core[0] not in _WINDOWS:
        return f"here no {core[0]} has pads"
    return Composition(core[0], is_padded, is_rectified)
