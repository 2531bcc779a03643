# SPDX-License-Identifier: MIT
"""What every operator gets for free: its samples are tried for shape, type, purity and gradient. No operator is named here."""

from __future__ import annotations

import re

import numpy
import pytest

from aidge_build.operators import operator_classes
from aidge_build.operators.base import Operator, TensorType
from aidge_build.operators.kinds import Broadcast, ElementWise
from aidge_build.operators.sample import Sample, numbers
from aidge_build.prepare.training.check import findings

CLASSES = {cls.__name__: cls for cls in operator_classes()}


@pytest.mark.parametrize("name", sorted(name for name, cls in CLASSES.items() if cls.has_backward() or cls.samples()))
def test_an_operator_is_on_its_samples_as_its_class_says(name):
    assert findings(CLASSES[name]) == ()


def test_samples_reach_every_input():
    """An operator's samples together give every input that it can have: none has a gradient that nobody checks."""
    for name, cls in CLASSES.items():
        given = [len(sample.inputs) for sample in cls.samples() if sample.inputs and sample.inputs[-1] is not None]
        signature = cls.forward.__code__
        if given and cls.has_backward() and not signature.co_flags & 4:  # *inputs
            assert max(given) == signature.co_argcount - 1, name


def test_most_operators_on_real_numbers_have_a_backward():
    assert sum(cls.has_backward() for cls in CLASSES.values()) >= 100


class WrongSlope(ElementWise):
    """y = x^2."""

    function = staticmethod(numpy.square)

    def derivative(self, data, result):
        return data


class WrongShape(ElementWise):
    """y = x, and a shape rule of something else."""

    function = staticmethod(lambda data: data + 0)

    def infer(self, inputs):
        return (TensorType((1,), inputs[0].dtype),)


class Impure(ElementWise):
    """y = 2 * x, in the place of x."""

    @staticmethod
    def function(data):
        data *= 2
        return data.copy()


class Forgetful(Broadcast):
    """y = a * b, with a gradient that nobody sums over what was broadcast."""

    function = staticmethod(numpy.multiply)

    def backward(self, gradients, inputs, outputs):
        return gradients[0] * inputs[1], gradients[0] * inputs[0]


class Silent(Operator):
    """y = x * x, but says that its input has no gradient."""

    def infer(self, inputs):
        return (TensorType(inputs[0].dims, inputs[0].dtype),)

    def forward(self, data):
        return data * data

    def backward(self, gradients, inputs, outputs):
        return (None,)

    @classmethod
    def samples(cls):
        return (Sample(cls(), (numbers(3),)),)


class Unsampled(Silent):
    """The same without samples."""

    @classmethod
    def samples(cls):
        return ()


@pytest.mark.parametrize(
    "operator, finding",
    [
        (WrongSlope, r"WrongSlope: the gradient of input 0 is 1\.\d+ at element \d+, numerically 3\.\d+"),
        (WrongShape, r"infer says \[\[1\]\], forward gives \[\[2, 3, 4\]\]"),
        (Impure, "forward changes its inputs"),
        (Forgetful, r"the gradient of input 1 has the dims \[2, 3, 2\], wants \[3, 1\]"),
        (Silent, "the gradient of input 0 is 0 at element"),
        (Unsampled, "has a backward, but no samples to check it on"),
    ],
)
def test_a_faulty_operator_is_found(operator, finding):
    assert any(re.search(finding, found) for found in findings(operator)), findings(operator)
