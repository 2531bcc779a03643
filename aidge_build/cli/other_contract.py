# SPDX-License-Identifier: MIT
"""`verify --reference`: whether stored outputs that differ are rounded by another numerical contract."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial

import numpy

from aidge_build.base.errors import AidgeError
from aidge_build.base.naming import counted
from aidge_build.build.compile import build_program
from aidge_build.build.inputs import USER_NAMES
from aidge_build.build.request import CompileRequest
from aidge_build.plan.program import Program
from aidge_build.run.verify.steps import run_as_kernels
from aidge_build.run.verify.vectors import Vectors

_CONTRACTS = ("onnx", "tflite")


def rounded_by(
    arguments: argparse.Namespace,
    request_of: Callable[[argparse.Namespace], CompileRequest],
    program: Program,
    vectors: Vectors,
    reference: Vectors,
) -> list[str]:
    """Returns a line that names the contract that gives the reference bit by bit in numpy; [] if none does. `request_of` reads
    the model of a command, here with another --rounding."""
    own = USER_NAMES.get(program.options.rounding, program.options.rounding)
    for other in _CONTRACTS:
        if other != own and _equals(partial(request_of, _with_rounding(arguments, other)), vectors, reference):
            values = counted(sum(one.size for one in reference.values()), "value")
            return [f"with --rounding {other}, 0 of {values} differ: the stored outputs have that contract, the code has {own}"]
    return []


def _with_rounding(arguments: argparse.Namespace, rounding: str) -> argparse.Namespace:
    return argparse.Namespace(**vars(arguments) | {"rounding": rounding})


def _equals(request: Callable[[], CompileRequest], vectors: Vectors, reference: Vectors) -> bool:
    try:
        outputs = run_as_kernels(build_program(request()), vectors)
    except AidgeError:
        return False  # the model has no meaning under this contract
    return all(numpy.array_equal(outputs[name], values) for name, values in reference.items())
