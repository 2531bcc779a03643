# SPDX-License-Identifier: MIT
"""What a program says of weights that can be put into it later: by what a new set is made, and compared."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from aidge_build.emit.arrays import Arrays
from aidge_build.emit.cascades import CascadeText
from aidge_build.emit.digest import code_of_text, digest_of
from aidge_build.emit.layers import LayerText
from aidge_build.emit.ports import Port
from aidge_build.program import Program


def update_claim(program: Program, ports: Sequence[Port], layers: Sequence[LayerText], layout: str) -> dict:
    """Of the claim: the digest that N_bind compares, the command's options, and of each layer what it is made of."""
    return {
        "layout": layout,
        "version": program.options.weights_version,
        "made_with": [word for word in program.made_with if word.isprintable()],
        "ports": [_port(port) for port in ports],
        "layers": [
            {"kernel": f"{layer.kernel.library} {layer.kernel.name}", "code": _digest(text)}
            for layer, text in zip(program.layers, layers, strict=True)
        ],
    }


def _port(port: Port) -> str:
    tensor, side = port.tensor, "input" if port.is_input else "output"
    quantization = tensor.quantization
    scale = (
        f", scale {quantization.scale:.9g}, zero point {quantization.zero_point}"
        if quantization is not None and quantization.per_tensor
        else ""
    )
    return f"{side} {port.parameter} {tensor.dtype.name} {list(tensor.dims)}{scale}"


def layout_digest(
    program: Program,
    kernels: Sequence[str],
    layers: Sequence[LayerText],
    cascades: Sequence[CascadeText],
    arrays: Arrays,
) -> str:
    """Returns the digest of what reads a block: the code of kernels, what each layer passes to them, the steps of cascades, the
    arrays in their order, and what a state begins with, which stays.

    Equal code reads equal constants in equal order: whatever a kernel proved about the weights, it chose this code for both.
    Comments, the names of layers (which may follow the names in the file of a model), and the code around layers are not in it,
    so that a later version of the tool makes blocks for firmware of an earlier one as long as the kernels are the same.
    """
    number = {layer.symbol: f"layer_{position}" for position, layer in enumerate(layers)}
    called: list = [(replace(layer, comment=(), texts=()), layer.before) for layer in layers]
    called += [replace(cascade, comment=()) for cascade in cascades]
    calls = re.sub(r"[A-Za-z_]\w*", lambda word: number.get(word[0], word[0]), repr(called))
    read = [(array.dtype.c_type, array.alignment) for array in arrays.replaceable]
    start = arrays.initial_state.sha256 if arrays.initial_state else ""
    core = [condition.macro for condition in program.conditions]
    how = repr((read, start, core, program.options.assembly, program.options.unaligned))
    return digest_of(*map(code_of_text, kernels), calls, how)


def _digest(text: LayerText) -> str:
    """Of the code, whatever the layer is called."""
    return digest_of(repr(replace(text, symbol="", comment=())))
