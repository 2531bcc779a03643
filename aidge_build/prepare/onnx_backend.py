# SPDX-License-Identifier: MIT
"""The numpy backend as the ONNX project's backend interface wants it, for its test runner and its scoreboard.

    import onnx.backend.test
    from aidge_build import onnx_backend

    tests = onnx.backend.test.BackendTest(onnx_backend, __name__)

Models come as protobuf messages, values as numpy arrays. Shapes are static here: a model is specialised when its inputs are
known, for exactly their dims, and inputs that carry shapes (or nothing) become constants with the values that they have.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy

from aidge_build.base.errors import AidgeError
from aidge_build.contract.reference.evaluate import evaluate
from aidge_build.contract.reference.execution import Execution
from aidge_build.graph.dtype import DType
from aidge_build.graph.tensor import Tensor, constant
from aidge_build.operators import builtin_operators
from aidge_build.sources.formats.onnx.importer import import_onnx, refuse_unknown_operators
from aidge_build.sources.formats.onnx.node import NotConstant, OnnxNode
from aidge_build.sources.onnx_format import OnnxModel, check_node, read_model, read_node, specialised
from aidge_build.sources.onnx_format.tables import as_places
from aidge_build.sources.onnx_format.tensors import text_array

MOST_SPECIALISED = 16  # specialised graphs of one model that are kept


class BackendRep:
    """A prepared model: `run` gives its outputs."""

    def __init__(self, data: bytes, model: OnnxModel):
        self._data = data
        self._inputs = [value for value in model.inputs if value.name not in model.initializers]
        self._outputs = [value.name for value in model.outputs]
        self._words = {value.name: value.names for value in (*model.inputs, *model.outputs) if value.dtype is DType.int64}
        self._executions: dict[tuple, Execution] = {}

    def run(self, inputs: Sequence[numpy.ndarray] | Mapping[str, numpy.ndarray], **_) -> tuple[numpy.ndarray, ...]:
        """Returns the outputs in the model's order, for inputs in the model's order or by name."""
        values = self._named(inputs)
        constants = frozenset(name for name, value in values.items() if value.size == 0)
        while True:
            try:
                execution = self._specialised(values, constants)
                break
            except NotConstant as error:
                more = _to_bind(error.tensor, values, constants)
                if not more:
                    raise
                constants |= more
        context = execution.forward(execution.context({}), {name: values[name] for name in execution.view.inputs})
        tensors = (execution.view.tensor(name) for name in self._outputs)
        return tuple(
            self._in_words(tensor.name, numpy.array(tensor.data) if tensor.is_constant else context[tensor.name])
            for tensor in tensors
        )

    def _in_words(self, name: str, values: numpy.ndarray) -> numpy.ndarray:
        """Returns places in a table as the words of the model."""
        table = self._words.get(name)
        return text_array(table[place] for place in values.reshape(-1)).reshape(values.shape) if table else values

    def _named(self, inputs) -> dict[str, numpy.ndarray]:
        names = [value.name for value in self._inputs]
        if not isinstance(inputs, Mapping):
            inputs = [inputs] if isinstance(inputs, numpy.ndarray) else list(inputs)
            if len(inputs) != len(names):
                raise AidgeError(f"{len(inputs)} inputs are given, the model has {len(names)}")
            inputs = dict(zip(names, inputs))
        if any(not isinstance(value, numpy.ndarray | numpy.generic) for value in inputs.values()):
            raise AidgeError("an input is no tensor; sequences and optional values are not supported")
        return {name: as_places(numpy.asarray(value), self._words.get(name, ())) for name, value in inputs.items()}

    def _specialised(self, values: Mapping[str, numpy.ndarray], constants: Collection[str]) -> Execution:
        key = tuple(
            (name, value.shape, value.dtype.str, value.tobytes() if name in constants else None)
            for name, value in sorted(values.items())
        )
        if key not in self._executions:
            view, _ = import_onnx(specialised(self._data, values, constants), "model", builtin_operators(), {}, {})
            while len(self._executions) >= MOST_SPECIALISED:
                del self._executions[next(iter(self._executions))]
            self._executions[key] = Execution(view)
        return self._executions[key]


def _to_bind(tensor: str, values: Mapping[str, numpy.ndarray], constants: frozenset[str]) -> frozenset[str]:
    """Returns the inputs that must become constants so that this tensor is one: itself, or all integers that may lead to it."""
    if tensor in values:
        return frozenset({tensor}) - constants
    return frozenset(name for name, value in values.items() if value.dtype.kind in "iub") - constants


def prepare(model, device: str = "CPU", **_) -> BackendRep:
    """Returns the model ready to run; AidgeError if a part of it is not supported."""
    _require(device)
    data = model.SerializeToString()
    read = read_model(data, "model", {})
    refuse_unknown_operators(read, "model", builtin_operators())
    return BackendRep(data, read)


def run_model(model, inputs, device: str = "CPU", **_) -> tuple[numpy.ndarray, ...]:
    """Prepares the model and runs it once."""
    return prepare(model, device).run(inputs)


def run_node(
    node, inputs: Sequence[numpy.ndarray], device: str = "CPU", outputs_info=None, **options
) -> tuple[numpy.ndarray, ...]:
    """Runs one node by itself, in the opset of the option `opset_version` (default 17)."""
    _require(device)
    read = read_node(node.SerializeToString())
    tensors = {name: constant(name, numpy.asarray(value)) for name, value in zip(filter(None, read.inputs), inputs, strict=True)}
    opset = options.get("opset_version", 17)
    check_node(read, opset, [tensors[name].dtype if name else None for name in read.inputs])
    if read.full_type not in builtin_operators():
        raise AidgeError(f"unsupported operator {read.full_type}", code="OPERATOR")
    made = builtin_operators()[read.full_type].from_onnx(OnnxNode(read, opset, tensors))
    operator, names = made if isinstance(made, tuple) else (made, read.inputs)
    given = [tensors[name] if name else None for name in names]
    outputs = [Tensor(f"y{index}", one.dims, one.dtype) for index, one in enumerate(operator.infer(given))]
    return evaluate(operator, [None if tensor is None else tensor.data for tensor in given], given, outputs)[: len(read.outputs)]


def supports_device(device: str) -> bool:
    """Whether the device is the CPU of this machine."""
    return device.partition(":")[0] == "CPU"


def is_compatible(model, device: str = "CPU", **_) -> bool:
    """Whether `prepare` accepts the model."""
    try:
        prepare(model, device)
    except AidgeError:
        return False
    return True


def _require(device: str) -> None:
    if not supports_device(device):
        raise AidgeError(f"the device {device} is not supported", hint="CPU is")
