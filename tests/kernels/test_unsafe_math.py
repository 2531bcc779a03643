# SPDX-License-Identifier: MIT
"""Float kernels under compiler flags that allow sums in another order: the values are the same, or the compiler refuses.

A sample; AIDGE_STRESS=1 (`./sconsw stress`) takes every candidate, every set of flags and, where it is on this machine, clang.
"""

from __future__ import annotations

import os
import shutil

import cortexm_harness
import harness
import helium_harness
import numpy
import pytest
import test_drawn_layers
import test_stack
from random_tensors import Randomness

from aidge_build.base.errors import AidgeError
from aidge_build.boards.cores import WIDE_POINTERS
from aidge_build.contract.spec import tensors_that_move
from aidge_build.graph.dtype import DType
from aidge_build.operators.softmax import Softmax
from aidge_build.run.toolchain.other_compiler import COMPILER_VARIABLE

STRESS = "AIDGE_STRESS" in os.environ
FEATURES = {
    "ref": frozenset(),
    "cortexm": cortexm_harness.Case.features,
    "helium": helium_harness.Case.features,
}
ASSOCIATIVE = ("-fassociative-math", "-fno-signed-zeros", "-fno-trapping-math")
UNSAFE = ("-funsafe-math-optimizations", "-ffp-contract=fast")
SETS = (UNSAFE, ASSOCIATIVE, ("-ffp-contract=fast",), (*UNSAFE, "-flto"), (*ASSOCIATIVE, "-O3", "-flto"))
REFUSED = (("-Ofast",), ("-ffast-math",), ("-Ofast", "-flto"))
MODULES = ("test_cortexm_float_values", "test_helium_float", *(("test_cortexm_float", "test_softmax_rows") if STRESS else ()))
ALIKE = 1000 if STRESS else 2  # layers of one kernel and operator
needs_compiler = pytest.mark.skipif(not shutil.which("arm-none-eabi-gcc"), reason="needs arm-none-eabi-gcc")


def is_float(entry: helium_harness.Case) -> bool:
    moving = tensors_that_move(entry.view.inputs)
    types = [entry.view.inputs[index].dtype for index in moving] + [tensor.dtype for tensor in entry.view.outputs]
    return DType.float32 in types and len(moving) <= helium_harness.INPUTS


def states_an_order(entry: helium_harness.Case) -> bool:
    """Whether the case is made for the storage orders of one library."""
    return any(tensor is not None and tensor.format is not None for tensor in (*entry.view.inputs, *entry.view.outputs))


def cases(library: str, further: frozenset[str] = frozenset()) -> list[helium_harness.Case]:
    """Nodes with floats, as layers of the library."""
    parts = {"library_name": library, "features": FEATURES[library] | further}
    if WIDE_POINTERS in further and library != "ref":
        parts["misses_steps"] = lambda *_: False  # the host's products are not fused, as those of an FPU are
    own = type("OwnCase", (helium_harness.Case,), parts)
    found = [entry for module in MODULES for entry in test_stack.candidates_in(module)]
    drawn = [test_drawn_layers.real_layer(seed) for seed in range(8 * STRESS)]
    layers = [own(entry.view, entry.values) for entry in [*found, *drawn] if is_float(entry) and not states_an_order(entry)]
    alike: dict[tuple[str, str], list[helium_harness.Case]] = {}
    for layer in cortexm_harness.taken(layers):
        several = alike.setdefault((layer.kernel.name, layer.view.operator.type), [])
        if len(several) < ALIKE and not test_stack.reads_constants(layer):
            several.append(layer)
    return [layer for several in alike.values() for layer in several]


def names(flags: tuple[str, ...]) -> str:
    return "".join(flags)


@pytest.mark.requirement("G18")
@pytest.mark.parametrize("library", ("ref", "cortexm") if STRESS else ("cortexm",))
@pytest.mark.parametrize("flags", SETS if STRESS else SETS[:1], ids=names)
@pytest.mark.parametrize("compiler", ("", "clang") if STRESS else ("",))
def test_the_c_of_float_kernels_keeps_its_values(library, flags, compiler, monkeypatch):
    if compiler and shutil.which(compiler) is None:
        pytest.skip(f"needs {compiler}")
    if compiler and "-flto" in flags:
        pytest.skip("another compiler links")
    monkeypatch.setenv(COMPILER_VARIABLE, compiler)
    assert helium_harness.run(cases(library, frozenset({WIDE_POINTERS})), "-O2", *flags, board="host") == []


@pytest.mark.requirement("G18")
@needs_compiler
@pytest.mark.parametrize("board", ("mps2-an386", "mps3-an547") if STRESS else ("mps2-an386",))
@pytest.mark.parametrize("flags", SETS if STRESS else SETS[:1], ids=names)
def test_float_kernels_of_a_core_keep_their_values(board, flags):
    layers = cases({"mps2-an386": "cortexm", "mps3-an547": "helium"}[board])
    # Some candidates are of values for which their own test has another tolerance.
    usual = helium_harness.run(layers, "-O2", board=board) if STRESS else []
    assert helium_harness.run(layers, "-O2", *flags, board=board) == usual


@pytest.mark.requirement("G18")
@pytest.mark.parametrize("flags", REFUSED if STRESS else REFUSED[:1], ids=names)
def test_flags_under_which_infinities_mean_nothing_are_refused(flags):
    data = Randomness(1).real(1, 4)
    layer = harness.case(Softmax(axis=1), [data], [numpy.zeros((1, 4), numpy.float32)])
    layer = type("RefCase", (helium_harness.Case,), {"library_name": "ref", "features": FEATURES["ref"]})(
        layer.view, layer.values
    )
    with pytest.raises(AidgeError, match="compile this file without -ffast-math"):
        helium_harness.run([layer], *flags, board="host")
