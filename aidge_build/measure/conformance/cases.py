# SPDX-License-Identifier: MIT
"""Turns a node case into a program in C, or into the reason why there is none."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files

from aidge_build.base.errors import AidgeError
from aidge_build.build.compile import build_program
from aidge_build.build.request import CompileRequest
from aidge_build.contract.library import Library
from aidge_build.operators import builtin_operators
from aidge_build.plan.options import Options
from aidge_build.plan.program import Program
from aidge_build.prepare.adaptation.match import Target
from aidge_build.sources.onnx_format.node_cases import NodeCase

# Inputs that carry shapes: the harness may bind them to their test values, and says so. Nothing else is bound.
SHAPE_INPUTS = {
    "CumSum": (1,),
    "Expand": (1,),
    "OneHot": (1,),
    "Pad": (1, 3),
    "Reshape": (1,),
    "Resize": (2, 3),
    "Slice": (1, 2, 3, 4),
    "Split": (1,),
    "Squeeze": (1,),
    "Tile": (1,),
    "TopK": (1,),
    "Trilu": (1,),
    "Unsqueeze": (1,),
    "Upsample": (1,),
    **{f"Reduce{name}": (1,) for name in ("L1", "L2", "LogSum", "LogSumExp", "Max", "Mean", "Min", "Prod", "Sum", "SumSquare")},
}


@dataclass(frozen=True, eq=False)
class Prepared:
    """A case and its program; `refusal` says why there is none. `bound` are the inputs that became constants."""

    case: NodeCase
    bound: tuple[str, ...]
    program: Program | None = None
    refusal: str = ""

    @property
    def folded(self) -> bool:
        """Whether no output depends on a run-time input: the program only copies constants."""
        return self.program is not None and all(
            tensor is None or tensor.is_constant for layer in self.program.layers for tensor in layer.inputs
        )


def listed_names() -> tuple[str, ...]:
    """The cases of the list MCU-793."""
    lines = files(__package__).joinpath("mcu-793.txt").read_text().splitlines()
    return tuple(line for line in lines if line and not line.startswith("#"))


def prepare(case: NodeCase, symbol: str, libraries: tuple[Library, ...], features: frozenset[str] = frozenset()) -> Prepared:
    """Imports and compiles one case; inputs that carry shapes are bound."""
    wanted = {name for operator, position, name in case.reads if position in SHAPE_INPUTS.get(operator, ())}
    bound = tuple(name for name in case.inputs if name in wanted)
    operators = dict(builtin_operators())
    for library in libraries:
        operators |= {onnx_name: operator for operator in library.operators for onnx_name in operator.onnx_names}
    request = CompileRequest(
        name=symbol,
        model=case.bound(bound),
        file_name=case.name,
        libraries=libraries,
        operators=operators,
        target=Target(features),
        target_name="any",
        options=Options(),
    )
    try:
        return Prepared(case, bound, build_program(request))
    except AidgeError as error:
        return Prepared(case, bound, refusal=str(error).removeprefix(f"{case.name}: "))
