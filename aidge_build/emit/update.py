# SPDX-License-Identifier: MIT
"""What a program says of weights that can be put into it later: by what a new set is made, and compared."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from aidge_build.emit.digest import digest_of
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


def _digest(text: LayerText) -> str:
    """Of the code, whatever the layer is called."""
    return digest_of(repr(replace(text, symbol="", comment=())))
