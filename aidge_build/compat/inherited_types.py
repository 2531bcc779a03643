# SPDX-License-Identifier: MIT
"""Types of operators as the inherited API names them: which of this system's they mean, and which mean nothing here."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection
from dataclasses import replace
from functools import cache

from aidge_build.base.errors import AidgeError
from aidge_build.contract.spec import ImplSpec, NodeView, Predicate
from aidge_build.operators import operator_classes

_FAMILIES = ("Conv", "ConvDepthWise", "ConvTranspose", "MaxPooling", "AvgPooling")  # types that end in a number of axes here, too
_AXES = (1, 2, 3)
# Types that end in a number of axes there, and are one type here.
_ONE_TYPE = {"Pad": "Pad", "BatchNorm": "BatchNormalization", "GlobalAveragePooling": "GlobalAveragePooling"}
_OTHER_NAMES = {
    "InstanceNorm": "InstanceNormalization",
    "LayerNorm": "LayerNormalization",
    "Ln": "Log",
    "BatchNorm": "BatchNormalization",
}
# Types that no node has here: constants are tensors, states are inputs and outputs, and no operator of ONNX is one of the others.
ABSENT = frozenset(
    "BitErrorRate ComplexToInnerPair CryptoHash DFT FixedNBitFlip Fold2D GenericOperator GridSample Heaviside InnerPairToComplex "
    "Memorize MetaOperator Move NBitFlip NonZero Pop Producer RandomNormalLike SDLayerNorm SDShiftGELU SDShiftSiLU SDShiftmax "
    "STFT Scaling Scatter Select Stack Unfold2D WeightInterleaving".split()
)
_AXES_NAME = re.compile(rf"(?<!\w)({'|'.join(_ONE_TYPE)})([123])D(?!\w)")
_TYPE_NAME = re.compile(rf"(?<![\w#\[])({'|'.join((*_ONE_TYPE, *_OTHER_NAMES))})([123]D)?(?!\w)")


def own_type(name: str) -> str:
    """The type that nodes have here: `Pad2D` is a Pad, `BatchNorm2D` a BatchNormalization; any other name is itself."""
    found = _AXES_NAME.fullmatch(name)
    return _ONE_TYPE[found[1]] if found else _OTHER_NAMES.get(name, name)


def own_pattern(pattern: str) -> str:
    """The pattern with the types that nodes have here."""
    return _TYPE_NAME.sub(lambda found: own_type(found[0]), pattern)


def with_axes(spec: ImplSpec, text: str) -> ImplSpec:
    """The spec of a type or pattern for nodes that have the number of axes that it names (`Pad2D`: images)."""
    wanted = {int(found[2]) for found in _AXES_NAME.finditer(text)}
    if not wanted:
        return spec
    names = " and ".join(f"{axes}D" for axes in sorted(wanted))

    def rejection(view: NodeView) -> str:
        axes = view.outputs[0].rank - 2
        return "" if wanted == {axes} else f"has {axes} spatial axes, wants {names}"

    return replace(spec, predicates=(*spec.predicates, Predicate(f"is {names}", rejection)))


def inherited_name(own: str, rank: int) -> str:
    """The inherited name of a type of this system for a tensor with so many axes: `Pad2D` for the Pad of an image."""
    stem = {one: name for name, one in _ONE_TYPE.items() if name != "GlobalAveragePooling"}.get(own, "")
    return f"{stem}{rank - 2}D" if stem and rank - 2 in _AXES else own


def require_known(name: str, known: Collection[str], where: str) -> None:
    """Refuses a type that no node can ever have (code LIBRARY); `known` are the library's own types."""
    if name in known or name in ABSENT or name in known_types():
        return
    near = [each for each in sorted(known_types()) if re.fullmatch(rf"{re.escape(name)}([123]D)?", each, re.IGNORECASE)]
    near = near or difflib.get_close_matches(name, sorted({*known_types(), *known}), 3)
    raise AidgeError(
        f"no operator has the type {name!r}",
        where=where,
        tried=near,
        hint="aidge-build list operators; register_generic for an operator of your own",
        code="LIBRARY",
    )


@cache
def known_types() -> frozenset[str]:
    """The types that nodes of a graph can have here, and the kinds of operators for which kernels register."""
    classes = operator_classes()
    found = {cls.__name__ for cls in classes} - set(_FAMILIES) | {f"{family}{axes}D" for family in _FAMILIES for axes in _AXES}
    return frozenset(found | {f"AvgPoolingHalvesUp{axes}D" for axes in _AXES} | {kind for cls in classes for kind in cls.kinds()})


def inherited_names() -> frozenset[str]:
    """Returns the inherited API's additional names of operators: with axes, by families, and names without a meaning here."""
    families = {*_FAMILIES, *_ONE_TYPE, *_OTHER_NAMES}
    padded = {f"Padded{family}{axes}D" for family in _FAMILIES for axes in _AXES}
    return frozenset(families | padded | {f"{stem}{axes}D" for stem in _ONE_TYPE for axes in _AXES} | ABSENT)
