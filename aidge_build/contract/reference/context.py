# SPDX-License-Identifier: MIT
"""The values of one execution of a graph: parameters, inputs, results, gradients, and parameters that the graph itself renews."""

from __future__ import annotations

from collections.abc import MutableMapping
from dataclasses import dataclass, field

import numpy

from aidge_build.base.errors import AidgeError
from aidge_build.operators.row_gradient import RowGradient


@dataclass(eq=False)
class Context:
    """Values by tensor name. `params` belong to the caller: forward and backward never change them.

    `instances` are the inputs of the present pass, `hidden` the results that forward computed from them. `gradients` are added
    up, never overwritten: gradients of parameters over passes until `clear_gradients`, gradients of instances and hidden values
    within a pass. If an operator read rows of a table, the table's gradient is a `RowGradient`; read as an array, it is the whole
    table. `overwritten_params` are the next values of parameters that an operator renews (a running mean) until
    `keep_overwritten`.
    """

    params: MutableMapping[str, numpy.ndarray]
    instances: dict[str, numpy.ndarray] = field(default_factory=dict)
    hidden: dict[str, numpy.ndarray] = field(default_factory=dict)
    gradients: dict[str, numpy.ndarray | RowGradient] = field(default_factory=dict)
    overwritten_params: dict[str, numpy.ndarray] = field(default_factory=dict)

    def begin(self, instances: dict[str, numpy.ndarray]) -> None:
        """Starts a pass: drops the values of the last pass and all gradients except the parameters' gradients."""
        self.instances, self.hidden = dict(instances), {}
        self.gradients = {name: gradient for name, gradient in self.gradients.items() if name in self.params}

    def __getitem__(self, name: str) -> numpy.ndarray:
        """Returns the value of a tensor in the present pass."""
        for values in (self.hidden, self.instances, self.params):
            if name in values:
                return values[name]
        raise AidgeError(
            f"there is no value of a tensor '{name}'", code="GRAPH", hint="only tensors of the graph have one, after its forward"
        )

    def accumulate(self, name: str, gradient: numpy.ndarray | RowGradient) -> None:
        """Adds a gradient to the tensor's gradient."""
        known = self.gradients.get(name)
        if known is not None:
            gradient = known + gradient
        elif name in self.hidden or not isinstance(gradient, RowGradient):  # an operator's backward takes arrays
            gradient = numpy.array(gradient)
        self.gradients[name] = gradient

    def clear_gradients(self) -> None:
        """Drops all gradients: a new step of training begins."""
        self.gradients = {}

    def keep_overwritten(self) -> None:
        """Sets parameters to the values that operators computed for them."""
        self.params.update(self.overwritten_params)
        self.overwritten_params = {}
