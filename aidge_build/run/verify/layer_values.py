# SPDX-License-Identifier: MIT
"""The values of every layer in a file, with which `aidge diff` compares a program in gdb."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile

import numpy

from aidge_build.base.errors import AidgeError
from aidge_build.build.emit import emit
from aidge_build.plan.program import Program
from aidge_build.run.verify.steps import run_as_kernels
from aidge_build.run.verify.vectors import Vectors

HEAD = "aidge"  # the array with the program that the values are of


def layer_values(program: Program, vectors: Vectors) -> bytes:
    """Returns an NPZ file with the inputs, the states before each inference, and the outputs of all layers that the numpy backend
    computes, [vector, dims...] in the order of the model, each in the array of its tensor's name.

    The array `aidge` is JSON: the digest of the model's file, and the digest of the names and constants of all layers, as
    N.plan.json has them. The name of the model is in neither. Equal inputs give equal bytes.
    """
    plan = emit(program).manifest
    layers = "".join(f"{layer['name']} {layer['constants_sha256']}\n" for layer in plan["layers"])
    head = {"model_sha256": plan["model_sha256"], "layers_sha256": hashlib.sha256(layers.encode()).hexdigest()}
    states = [state.read for state in program.view.states]
    outputs = [tensor.name for layer in program.layers for tensor in layer.outputs]
    found = run_as_kernels(program, vectors, names=tuple(dict.fromkeys([*states, *outputs])))
    values = {**vectors, **found}
    if HEAD in values:
        raise AidgeError("has a tensor of this name", where=f"'{HEAD}'", hint="rename it in the model", code="VECTORS")
    values[HEAD] = numpy.frombuffer(json.dumps(head, sort_keys=True).encode(), numpy.uint8)
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for name, array in values.items():
            with archive.open(zipfile.ZipInfo(f"{name}.npy"), "w", force_zip64=True) as member:
                numpy.lib.format.write_array(member, numpy.ascontiguousarray(array), allow_pickle=False)
    return content.getvalue()
