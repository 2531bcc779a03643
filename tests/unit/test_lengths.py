# SPDX-License-Identifier: MIT
"""What libraries say about the instructions of their kernels: read, chosen and refused."""

from __future__ import annotations

from dataclasses import replace

import numpy
import pytest

from aidge_build.base.errors import AidgeError
from aidge_build.base.installed import kernel_folder
from aidge_build.boards.cores import ALIGNED_ONLY, NO_ASSEMBLY
from aidge_build.build.inputs import read_folder
from aidge_build.contract.length import UNKNOWN, Length, length_of, lengths_of, measures
from aidge_build.contract.library import load_library
from aidge_build.contract.spec import NodeView
from aidge_build.operators import builtin_operators
from aidge_build.sources.formats.onnx.importer import import_onnx
from tests.models import model

WEIGHTS = numpy.ones((4, 3, 2, 2), numpy.float32)
DATA = model("y = Conv(x, w)", inputs="float[1,3,5,7] x", outputs="float[1,4,4,6] y", constants={"w": WEIGHTS})


@pytest.fixture(scope="module")
def seen() -> NodeView:
    view, _ = import_onnx(DATA, "net", builtin_operators(), {}, {})
    return NodeView.of(view, view.nodes[0])


def test_a_layer_is_measured_by_products_elements_places_and_the_width_of_its_lines(seen):
    assert measures(seen) == (96 * 12, 96, 105, 24, 96 * 12 / 6, 24 * 4, 1)


def test_groups_are_counted_and_so_is_what_the_windows_of_each_gather():
    weights = numpy.ones((6, 1, 3, 1), numpy.float32)
    data = model("y = Conv<group=3>(x, w)", inputs="float[1,3,5,7] x", outputs="float[1,6,3,7] y", constants={"w": weights})
    view, _ = import_onnx(data, "net", builtin_operators(), {}, {})
    assert measures(NodeView.of(view, view.nodes[0]))[-2:] == (3 * 7 * 3 * 3, 3)
    pool = model("y = MaxPool<kernel_shape=[3, 1]>(x)", inputs="float[1,3,5,7] x", outputs="float[1,3,3,7] y")
    view, _ = import_onnx(pool, "net", builtin_operators(), {}, {})
    assert measures(NodeView.of(view, view.nodes[0]))[-2:] == (0, 0)


def test_a_length_adds_up_what_each_of_these_takes_and_rounds_up(seen):
    assert (
        Length(fixed=10, per_mac=0.5, per_output=2, per_input=3, per_position=5, per_narrow=0.25).of(seen)
        == 10 + 576 + 192 + 315 + 120 + 48
    )
    assert Length(per_gathered=2, per_group=7).of(seen) == 2 * 96 + 7
    assert Length(fixed=0.2).of(seen) == 1


def test_channels_that_a_kernel_computes_together_take_as_long_where_some_are_missing(seen):
    assert [Length(per_mac=1, per_input=1, together=count).of(seen) for count in (0, 2, 3)] == [1257, 1257, 1152 * 6 // 4 + 105]


def test_the_entry_that_says_most_exactly_what_it_is_for_counts(seen):
    entries = (
        Length(fixed=1),
        Length(op="Conv2D", fixed=2),
        Length(kernel="conv", fixed=3),
        Length(kernel="conv", op="Conv2D", fixed=4),
        Length(kernel="conv", op="Conv2D", type="float32", fixed=5),
        Length(kernel="conv", op="Conv2D", type="int8", fixed=6),
        Length(kernel="other", op="Conv2D", type="float32", fixed=7),
    )
    assert [length_of(entries[:count], "conv", seen) for count in range(1, 8)] == [1, 2, 3, 4, 5, 5, 5]
    assert length_of(entries, "unmeasured", seen) == 2
    few = [Length(kernel="conv", op="Conv2D", type="float32", fewer_than=count, fixed=8) for count in (4, 5)]
    assert [length_of((*entries, one), "conv", seen) for one in few] == [5, 8]  # the layer has 4 channels
    assert length_of((), "conv", seen) == UNKNOWN.of(seen)


def test_an_entry_for_cores_that_lack_something_counts_on_these_alone(seen):
    entries = (Length(kernel="conv", fixed=1), Length(kernel="conv", without=("fpu",), fixed=2))
    entries += (Length(kernel="conv", without=("fpu", "thumb2"), fixed=3),)
    cores = {"Cortex-M4": {"fpu", "dsp", "thumb2"}, "Cortex-M3": {"thumb2"}, "Cortex-M0+": set()}
    views = [replace(seen, features=frozenset(features)) for features in cores.values()]
    assert [length_of(entries, "conv", view) for view in views] == [1, 2, 3]
    assert [length_of(entries[:2], "conv", view) for view in views] == [1, 2, 1]


def test_an_entry_for_builds_with_options_that_change_the_code_counts_there_alone(seen):
    entries = (Length(kernel="conv", fixed=1), Length(kernel="conv", under=("optimize size",), fixed=2))
    entries += (Length(kernel="conv", under=("assembly off", "optimize size"), fixed=3),)
    entries += (Length(kernel="conv", under=("unaligned off",), fixed=4),)
    builds = [("balanced", ()), ("speed", ()), ("size", ()), ("size", (NO_ASSEMBLY,)), ("balanced", (NO_ASSEMBLY,))]
    builds += [("balanced", (ALIGNED_ONLY,)), ("size", (ALIGNED_ONLY, NO_ASSEMBLY))]
    found = []
    for objective, features in builds:
        view = replace(seen, objective=objective, features=frozenset({"fpu", "thumb2", *features}))
        found.append(length_of(entries, "conv", view))
    assert found == [1, 1, 2, 3, 1, 4, 3]
    exact = (*entries, Length(kernel="conv", without=("fpu",), fixed=5))
    assert length_of(exact, "conv", replace(seen, objective="size", features=frozenset({"thumb2"}))) == 5


def test_a_file_with_faults_is_refused_by_name():
    good = b'[[length]]\nkernel = "conv"\nper_mac = 1.5\nfixed = 3\n'
    assert lengths_of({"lengths.toml": good}, "lib") == (Length(kernel="conv", per_mac=1.5, fixed=3),)
    lacking = lengths_of({"lengths.toml": good + b'without = ["thumb2", "fpu"]\n'}, "lib")
    assert [entry.without for entry in lacking] == [("fpu", "thumb2")]
    under = lengths_of({"lengths.toml": good + b'under = ["optimize size", "assembly off"]\n'}, "lib")
    assert [entry.under for entry in under] == [("assembly off", "optimize size")]
    assert lengths_of({}, "lib") == ()
    for text, what in (
        (good + b"per_row = 1\n", "unknown key 'per_row'"),
        (good + b"per_input = -1\n", "per_input is -1"),
        (good + b"per_input = inf\n", "per_input is inf"),
        (good + b'without = ["dsp"]\n', "without 'dsp'"),
        (good + b'under = ["optimize balanced"]\n', "under 'optimize balanced'"),
    ):
        with pytest.raises(AidgeError, match=what):
            lengths_of({"lengths.toml": text}, "lib")


@pytest.mark.parametrize("name", ["ref", "cortexm", "helium", "armv7m", "armv6m"])
def test_what_the_libraries_say_is_about_kernels_that_they_have(name):
    library = load_library(read_folder(kernel_folder() / name), name)
    assert {entry.kernel for entry in library.lengths if entry.kernel} <= {kernel.name for kernel in library.kernels}
    assert any(not entry.kernel for entry in library.lengths)
