# SPDX-License-Identifier: MIT
"""int8 networks of windows, whose layers can be computed some rows at a time, and small boards for them."""

from __future__ import annotations

from pathlib import Path

import numpy

from tests.models import model

SIDE, CHANNELS = 20, 8


def chain(layers: int = 3, *, tail: bool = True, remembers: bool = False) -> bytes:
    """x int8 [1, 1, 20, 20]; convolutions with 8 channels of 20 x 20, each with int8 results, and their mean at the end (`tail`)
    or the largest of 4 x 4. Two maps of 3,200 B are live at once. Where it `remembers`, the result of the last inference is the
    input `memory`, whose next value is the output `kept`, and is added."""
    random = numpy.random.default_rng(5)
    lines, constants = ["d_0 = DequantizeLinear(x, scale, zero)"], {}
    for number in range(1, layers + 1):
        channels = 1 if number == 1 else CHANNELS
        constants[f"w{number}"] = random.integers(-127, 128, (CHANNELS, channels, 3, 3)).astype(numpy.int8)
        lines += [
            f"d_w{number} = DequantizeLinear(w{number}, weight_scale, zero)",
            f"conv{number} = Conv<pads = [1, 1, 1, 1]>(d_{number - 1}, d_w{number})",
            f"t{number} = QuantizeLinear(conv{number}, scale, zero)",
            f"d_{number} = DequantizeLinear(t{number}, scale, zero)",
        ]
    if tail:
        lines += [f"mean = GlobalAveragePool(d_{layers})", "y = QuantizeLinear(mean, scale, zero)"]
    else:
        lines += [
            f"small = MaxPool<kernel_shape = [4, 4], strides = [4, 4]>(d_{layers})",
            "y = QuantizeLinear(small, scale, zero)",
        ]
    constants |= {"scale": numpy.float32(1 / 32), "zero": numpy.int8(0), "weight_scale": numpy.float32(1 / 1500)}
    side = 1 if tail else SIDE // 4
    inputs, outputs = f"int8[1,1,{SIDE},{SIDE}] x", f"int8[1,{CHANNELS},{side},{side}] y"
    if remembers:
        lines[-1] = lines[-1].replace("y =", "now =")
        lines += ["d_now = DequantizeLinear(now, scale, zero)", "d_memory = DequantizeLinear(memory, scale, zero)"]
        lines += [
            "sum = Add(d_now, d_memory)",
            "kept = QuantizeLinear(sum, scale, zero)",
            "y = MaxPool<kernel_shape = [1, 1]>(kept)",
        ]
        state = f"int8[1,{CHANNELS},{side},{side}]"
        inputs, outputs = f"{inputs}, {state} memory", f"{outputs}, {state} kept"
    return model(" ".join(lines), inputs=inputs, outputs=outputs, constants=constants)


def random_inputs(path: Path, count: int = 2) -> Path:
    """Vectors of the chain's input in the file."""
    numpy.savez(path, x=numpy.random.default_rng(7).integers(-128, 128, (count, 1, 1, SIDE, SIDE)).astype(numpy.int8))
    return path


def small_board(folder: Path, ram_bytes: int, more: str = "", base: str = "stm32f4") -> list[object]:
    """The words that name a board whose arenas may take so many bytes of SRAM1; `more` is text of its file."""
    folder.mkdir(exist_ok=True)
    arena = 'arena = ["SRAM1"]\n' if "arena =" not in more else ""
    region = f'[regions.SRAM1]\norigin = 0x20000000\nlength = {ram_bytes + 5120}\nkind = "ram"\n'
    (folder / "small.toml").write_text(f'extends = "{base}"\ntitle = "Small"\nreserved = 5120\n{arena}{more}{region}')
    return ["--board", "small", "--board-path", folder]
