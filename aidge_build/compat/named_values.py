# SPDX-License-Identifier: MIT
"""Values that the inherited API names, and the condition on attributes that specs are made with."""

from __future__ import annotations

import enum
from typing import Any

from aidge_build.compat.handles import InheritedOperator
from aidge_build.contract.spec import NodeView, Predicate


class PaddingMode(enum.StrEnum):
    """The values that a Pad puts around its input; equal to the operator's own word."""

    CONSTANT = "constant"
    EDGE = "edge"
    REFLECT = "reflect"
    WRAP = "wrap"
    CONSTANT_LOWEST = "constant_lowest"


class Interpolation:
    """The ways in which a Resize computes values between samples, and the places of the samples."""

    class Mode(enum.StrEnum):
        """Between samples: by a curve, or one of them."""

        CUBIC = "cubic"
        LINEAR = "linear"
        FLOOR = "floor"
        CEIL = "ceil"
        ROUND_PREFER_FLOOR = "round_prefer_floor"
        ROUND_PREFER_CEIL = "round_prefer_ceil"

    class CoordinateTransformation(enum.StrEnum):
        """The place in the input of a place in the output."""

        HALF_PIXEL = "half_pixel"
        HALF_PIXEL_SYMMETRIC = "half_pixel_symmetric"
        PYTORCH_HALF_PIXEL = "pytorch_half_pixel"
        ALIGN_CORNERS = "align_corners"
        ASYMMETRIC = "asymmetric"
        TF_HALF_PIXEL_FOR_NN = "tf_half_pixel_for_nn"


class DynamicAttributes(dict):
    """Attributes by name."""


def mandatory_attrs(attributes: dict[str, Any]) -> Predicate:
    """The condition of a spec that the operator has these attributes, under their inherited names, with these values."""

    def rejection(view: NodeView) -> str:
        given = vars(InheritedOperator(view).attr)
        for name, wanted in attributes.items():
            if name not in given:
                return f"{view.operator.type} has no attribute {name}"
            if given[name] != wanted:
                return f"attribute {name} is {given[name]}, wants {wanted}"
        return ""

    return Predicate(", ".join(f"{name} is {value}" for name, value in sorted(attributes.items())), rejection)
