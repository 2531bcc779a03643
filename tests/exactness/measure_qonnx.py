# SPDX-License-Identifier: MIT
"""Writes qonnx.npz beside this file: what the package qonnx computes for its own quantizers.

`python -m tests.exactness.measure_qonnx` in an environment with the packages qonnx and onnxruntime; the tests read only the file.
"""

from __future__ import annotations

import numpy
from qonnx.core.modelwrapper import ModelWrapper
from qonnx.core.onnx_exec import execute_onnx
from qonnx.custom_op.general.trunc import trunc_v1, trunc_v2
from qonnx.transformation.infer_shapes import InferShapes

from tests.exactness.qonnx_cases import FILE, network, quantizers


def main() -> None:
    found = {}
    for name, model, x in quantizers():
        found[name] = _trunc(model, x) if name.startswith("trunc") else execute_onnx(ModelWrapper(model), {"x": x})["y"]
    model, samples = network()
    wrapper = ModelWrapper(model).transform(InferShapes())
    found["network"] = numpy.stack([execute_onnx(wrapper, {"x": sample})["y"] for sample in samples])
    numpy.savez_compressed(FILE, **{name: values.astype(numpy.float32) for name, values in found.items()})


def _trunc(model, x: numpy.ndarray) -> numpy.ndarray:
    """Both versions have one name: which is meant follows from the number of inputs."""
    (node,), values = (
        model.graph.node,
        [numpy.asarray(tensor.float_data or numpy.frombuffer(tensor.raw_data, "f4")) for tensor in model.graph.initializer],
    )
    words = {one.name: one.s.decode() or one.i for one in node.attribute}
    scalars = [numpy.float32(value.reshape(())) for value in values]
    if len(scalars) == 4:
        return trunc_v1(x, *scalars, words["rounding_mode"])
    scale, zero, bits, target, out = scalars
    return trunc_v2(x, scale, zero, bits, words["narrow"], words["signed"], target, out, words["rounding_mode"])


if __name__ == "__main__":
    main()
