# SPDX-License-Identifier: MIT
"""Figures of other systems on the same models, from a file: TensorFlow Lite Micro with CMSIS-NN, published cycles."""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from aidge_build.base.reading import read_json
from aidge_build.boards.cores import all_cores, find_core, list_cores
from aidge_build.measure.bench.figures import Figures

_PUBLISHED, _FLOAT = "published_cycles_", "onnx2c_float32_instructions_per_mac_"  # each is followed by the name of a core


@dataclass(frozen=True)
class Peers:
    """The file's numbers; every answer is None if the file has no number."""

    data: Mapping = field(default_factory=dict)

    def counted(self, figure: str, entry: Figures) -> int | None:
        """Returns `figure` of the interpreter on this model ("instructions", "arena_bytes", ...); int8 only."""
        if entry.data != "int8":
            return None
        cores = self.data.get("tflm_cmsis_nn", {}).get(figure, {})
        found = cores.get(_with_the_same_code(entry.cpu, cores), {}).get(entry.model)
        return self._plain_c(entry.model, entry.cpu) if found is None and figure == "instructions" else found

    def _plain_c(self, model: str, cpu: str) -> int | None:
        """Returns the instructions of CMSIS-NN's kernels without an interpreter if they were counted:
        `cmsis_nn_plain_c_<model>_...`."""
        for name, cores in sorted(self.data.items()):
            group = name.removeprefix("cmsis_nn_plain_c_").removesuffix("_instructions")
            if group != name and model.startswith(group):
                return cores.get(_with_the_same_code(cpu, cores))
        return None

    def published_cycles(self, entry: Figures) -> int | None:
        """The fewest that anybody has published for this core with this int8 model."""
        if entry.data != "int8":
            return None
        published = self.data.get(_PUBLISHED + _word(entry.cpu), {}).values()
        return min((found[entry.model] for found in published if entry.model in found), default=None)

    def float_per_mac(self, entry: Figures) -> float | None:
        """Returns the instructions per multiply-accumulate of another generator's float32 C on a model of this kind."""
        if entry.data != "float":
            return None
        cores = {name.removeprefix(_FLOAT) for name in self.data if name.startswith(_FLOAT)}
        cores = {name for name in list_cores() if _word(name) in cores}
        found = self.data.get(_FLOAT + _word(_with_the_same_code(entry.cpu, cores)), {})
        return next(
            (number for name, number in sorted(found.items()) if entry.model.startswith(name.removesuffix("_like"))), None
        )

    def instruction_ratio(self, entry: Figures) -> float | None:
        """Returns how many times more instructions the other system needs."""
        other = self.counted("instructions", entry)
        if other is not None:
            return other / entry.instructions
        per_mac = self.float_per_mac(entry)
        return per_mac / entry.per_mac if per_mac is not None else None


def _word(cpu: str) -> str:
    """Returns the name of a core as the keys of the file have it."""
    return cpu.replace("-", "_")


def _with_the_same_code(cpu: str, counted: Container[str]) -> str:
    """Returns the core, or a core that runs the same code and was counted for the others: with the same instructions except for
    an FPU, which has its own entry."""
    core = find_core(cpu)
    if cpu in counted or core is None:
        return cpu
    same = (other.name for other in all_cores() if other.features_with() == core.features_with() and other.name in counted)
    return next(same, cpu)


def read_peers(path: Path | None) -> Peers:
    """The figures of a file, or none."""
    if path is None:
        return Peers()
    return Peers(read_json(path, {}, "BENCH", "figures of other systems, as --peers describes them"))
