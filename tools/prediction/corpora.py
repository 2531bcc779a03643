# SPDX-License-Identifier: MIT
"""Which random networks the tables of a core are fitted to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

FOLDER = Path("tests") / "kernels" / "boards"  # of boards that only tests and measurements need


@dataclass(frozen=True)
class Part:
    """Networks of these seeds: of the `KINDS` in turn, "rare", "uniform", "narrow", "plain" or "pooled"; in int8 or float32;
    with every kernel that accepts a layer; built with these `words` of the command line."""

    name: str
    seeds: Sequence[int]
    is_quantized: bool = True
    kind: str = ""
    has_alternatives: bool = False
    words: tuple[str, ...] = ()


RARE = Part("rare", range(24), kind="rare")
POOLED = Part("pooled", range(40), kind="pooled")
FLOAT = Part("float32", range(64), is_quantized=False)
UNIFORM = Part("uniform", range(1000, 1096), kind="uniform")
NARROW = Part("narrow", range(7000, 7088), kind="narrow")
TFLITE = Part("tflite", range(5000, 5040), kind="plain", words=("--rounding", "tflite"))
OTHERS = Part("alternatives", (3001, 3041, 3042, *range(3081, 3089), *range(3121, 3129)), has_alternatives=True)

CORPORA = {
    "mps2-an386": (Part("int8", range(320)), RARE, POOLED, OTHERS, FLOAT, TFLITE, NARROW),
    "mps3-an547": (Part("int8", range(320)), RARE, UNIFORM, NARROW, replace(FLOAT, seeds=range(48)), TFLITE),
    "mps2-an385": (Part("int8", range(80)), TFLITE, NARROW),
    "mps2-an386-nofpu": (Part("int8", range(141)), POOLED, NARROW),
    "rp2040": (Part("int8", range(66)), Part("dense", range(4, 132, 8)), TFLITE),
    "qemu_riscv32": (Part("int8", range(66)), Part("dense", range(4, 132, 8)), TFLITE),
    "qemu_rv32e": (Part("int8", range(66)), TFLITE),
    "esp32p4": (Part("int8", range(66)), TFLITE, replace(FLOAT, seeds=range(32))),
    "qemu_riscv32_v": (Part("int8", range(96)), UNIFORM, TFLITE),
}

CORPORA["qemu_hazard3"] = CORPORA["qemu_riscv32"]  # for cycles

# For which --optimize the tables hold, all of which are measured with the first: kernels unroll alike for the others, and layers
# of networks built for them lay inside of the stated errors as often.
BALANCED = "balanced"
HOLDS_FOR = {"mps2-an386": [BALANCED, "speed"], "rp2040": [BALANCED, "speed"]}
