# SPDX-License-Identifier: MIT
"""The request for `compile`: everything that was read, as values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from aidge_build.boards import Board
from aidge_build.boards.cores import FPU, Core, Feature
from aidge_build.contract.library import Library
from aidge_build.operators.base import Operator
from aidge_build.plan.fast_memory import FastMemory
from aidge_build.plan.options import Options
from aidge_build.plan.program import Condition
from aidge_build.prepare.adaptation.match import Target
from aidge_build.prove.timing.table import TimingTable
from aidge_build.sources.dims import Bound
from aidge_build.sources.source_format import ModelFile


@dataclass(frozen=True)
class CompileRequest:
    """`model` are the bytes of the file, `file_name` names it in messages; `external` maps locations to bytes.

    `left_out` are libraries that the core might use if the flags let it; a notice states their cost. `dependencies` are the paths
    of everything that was read: the depfile lists exactly these.
    """

    name: str
    model: bytes
    file_name: str
    libraries: tuple[Library, ...]
    operators: Mapping[str, type[Operator]]
    target: Target
    target_name: str
    board: Board | None = None
    core: Core | None = None  # None where code for any core was asked for
    timing: TimingTable | None = None  # of the core
    external: Mapping[str, bytes] = field(default_factory=dict)
    bind: Mapping[str, Bound] = field(default_factory=dict)
    signature: str = ""  # the one to compile in a file with several; "" for the first
    state: Mapping[str, str] = field(default_factory=dict)  # output -> the input that gets its value in the next inference
    options: Options = Options()
    dependencies: tuple[str, ...] = ()
    left_out: tuple[Library, ...] = ()
    float_model: bytes | None = None  # what the file holds, where `model` was quantized from it
    notices: tuple[str, ...] = ()  # of what was done before
    words: tuple[str, ...] = ()  # the options of the command that are no paths: the request, with the same files
    fast: FastMemory | None = None  # the file of --place
    monitor_samples: bytes = b""  # an NPZ file with usual inputs, for --monitor

    @property
    def file(self) -> ModelFile:
        """The model's file, as importers see it."""
        return ModelFile(
            self.model,
            self.file_name,
            self.operators,
            self.bind,
            self.external,
            self.signature,
            self.target.contract,
            self.state,
        )

    @property
    def cpu(self) -> str:
        """The core's name, with its left-out features: "cortex-m33+nodsp", "host" for this machine, "" for any core."""
        return self.core.cpu if self.core else ""

    @property
    def features(self) -> tuple[str, ...]:
        """The features of the core that kernels may use, sorted."""
        return tuple(sorted(self.target.features & self.core.known_features.keys())) if self.core else ()

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """The preprocessor conditions of each feature that kernels may use: without the feature's flags their portable C, or
        library functions instead of the FPU, would compute the same in many times the instructions. Then come the remarks on
        compilers with a fault."""
        if self.core is None or not self.core.defines:
            return ()
        known = {name: self.core.known_features[name] for name in self.features if self.core.known_features[name].macro}
        implied = frozenset().union(*(feature.implies for feature in known.values()))
        return (
            *(
                Condition(
                    f"!defined({self.core.defines}) || ({feature.macro})",
                    f"{self.name} was generated for {self.cpu} with {feature.title}, which these compiler flags do not use: "
                    + self._remedy(name, feature),
                )
                for name, feature in known.items()
                if name not in implied
            ),
            *(Condition(macro, text, is_remark=True) for macro, text in self.core.compiler_faults.items()),
        )

    def _remedy(self, name: str, feature: Feature) -> str:
        softfp = " (or softfp)" if feature.on.endswith("=hard") else ""
        flags = f" with {feature.on}{softfp}" if feature.on else ""
        if name == FPU and self.core and FPU in self.core.may_have:
            return f"compile{flags}, or generate {self.name} {'with --fpu=none' if self.board else 'without --fpu'}"
        return f"compile for {self.cpu}{flags}, or generate {self.name} for the core of these flags (--cpu)"
