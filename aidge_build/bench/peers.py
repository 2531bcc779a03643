# SPDX-License-Identifier: MIT
"""Figures of other systems on the same models, from a file: what TensorFlow Lite Micro with CMSIS-NN needs, published cycles."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from aidge_build.bench.figures import Figures
from aidge_build.reading import read_json

# Code for these cores is that for the Cortex-M4, on which the others were counted.
_SAME_CODE = {"cortex-m7": "cortex-m4", "cortex-m33": "cortex-m4", "cortex-m33+nodsp": "cortex-m3"}


@dataclass(frozen=True)
class Peers:
    """The file's numbers; every question has the answer None where the file has no number."""

    data: Mapping = field(default_factory=dict)

    def counted(self, figure: str, entry: Figures) -> int | None:
        """`figure` of the interpreter on this model ("instructions", "arena_bytes", ...); it was counted for int8 only."""
        if entry.data != "int8":
            return None
        core = _SAME_CODE.get(entry.cpu, entry.cpu)
        found = self.data.get("tflm_cmsis_nn", {}).get(figure, {}).get(core, {}).get(entry.model)
        return self._plain_c(entry.model, core) if found is None and figure == "instructions" else found

    def _plain_c(self, model: str, core: str) -> int | None:
        """Instructions of CMSIS-NN's kernels without an interpreter, where those were counted: `cmsis_nn_plain_c_<model>_...`."""
        for name, cores in sorted(self.data.items()):
            group = name.removeprefix("cmsis_nn_plain_c_").removesuffix("_instructions")
            if group != name and model.startswith(group):
                return cores.get(core)
        return None

    def published_cycles(self, entry: Figures) -> int | None:
        """The fewest that anybody has published for a Cortex-M4 with this int8 model."""
        if entry.data != "int8" or entry.cpu != "cortex-m4":
            return None
        published = self.data.get("published_cycles_cortex_m4", {}).values()
        return min((found[entry.model] for found in published if entry.model in found), default=None)

    def float_per_mac(self, entry: Figures) -> float | None:
        """Another generator's float32 C, in instructions per multiply-accumulate on a model of this kind."""
        if entry.data != "float" or _SAME_CODE.get(entry.cpu, entry.cpu) != "cortex-m4":
            return None
        found = self.data.get("onnx2c_float32_instructions_per_mac_cortex_m4", {})
        return next(
            (number for name, number in sorted(found.items()) if entry.model.startswith(name.removesuffix("_like"))), None
        )

    def instruction_ratio(self, entry: Figures) -> float | None:
        """How many times more instructions the other system needs."""
        other = self.counted("instructions", entry)
        if other is not None:
            return other / entry.instructions
        per_mac = self.float_per_mac(entry)
        return per_mac / entry.per_mac if per_mac is not None else None


def read_peers(path: Path | None) -> Peers:
    """The figures of a file, or none."""
    if path is None:
        return Peers()
    return Peers(read_json(path, {}, "BENCH", "figures of other systems, as --peers describes them"))
