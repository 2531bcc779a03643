# SPDX-License-Identifier: MIT
"""Comparisons of kernels decide where they were measured, and where no plan needs more bytes for it."""

from __future__ import annotations

from functools import cache, partial

import numpy
import pytest

from aidge_build.base.errors import AidgeError
from aidge_build.build.compile import demands_of
from aidge_build.build.inputs import find_libraries, load_libraries
from aidge_build.contract.library import load_library
from aidge_build.contract.spec import NodeView
from aidge_build.plan.options import Options
from aidge_build.plan.planning import bytes_of_whole
from aidge_build.prepare.adaptation.adapt import adapt_to_backend
from aidge_build.prepare.adaptation.by_cost import MOST_TRIALS, with_faster
from aidge_build.prepare.adaptation.cost import read_cost_table
from aidge_build.prepare.adaptation.layer_classes import shape_class, shapes_of, types_of
from aidge_build.prepare.adaptation.match import Target
from aidge_build.prepare.adaptation.shipped import FOLDER, file_name, table_at
from tests.models import graph

HEAD = 'schema = 1\nname = "bench"\nversion = "7"\nunit = "instructions"\nfeatures = ["dsp"]\noptimize = "balanced"\n'
MUL = "float32, float32 -> float32"
KERNEL = """
from aidge_build import Demands, ExportNode, ImplSpec, IOSpec, dtype, kernel
FORMAT = {form!r}
@kernel(["Mul", "Add"], ImplSpec([IOSpec(dtype.float32, FORMAT), IOSpec(dtype.float32, FORMAT)], [IOSpec(dtype.float32, FORMAT)]))
class K(ExportNode):
    @classmethod
    def demands(cls, view):
        return Demands(scratch_bytes={scratch}, bands={bands})
"""


def faster(library: str, than: str, *, op: str = "Mul", types: str = MUL, shape: str = "", ratio: float = 0.8) -> str:
    return (
        f'[[quicker]]\nlibrary = "{library}"\nkernel = "kernels"\nthan = "{than} kernels"\nop = "{op}"\ntypes = "{types}"\n'
        f'shape = "{shape}"\nlayers = 4\nratio = {ratio}\nmost = 0.95\n'
    )


def table(*entries: str):
    return read_cost_table("\n".join([HEAD, *entries]).encode(), "t.toml")


def library(name: str, scratch: int = 0, bands: bool = True, form: str = "any"):
    text = KERNEL.format(scratch=scratch, bands=bands, form=form)
    return load_library({"library.toml": f'name = "{name}"'.encode(), "kernels.py": text.encode()}, name)


def product(second: str = "float[2,6]"):
    return graph("y = Mul (a, b)", inputs=f"float[2,6] a, {second} b", outputs="float[2,6] y")


def choice(view, known, *names: str):
    libraries = [library(name) for name in names]
    return adapt_to_backend(view, libraries, Target(cost_table=known)).choices["Mul_0"]


def test_a_kernel_that_was_always_faster_replaces_the_preferred_one():
    found = choice(product(), table(faster("fast", "slow")), "slow", "other", "fast")
    assert found.kernel.library == "fast"
    assert found.rule.startswith("measured faster by cost table bench version 7 (")
    assert found.rule.endswith("): at most 0.95 times as much as slow kernels on 4 layers")
    assert found.rejected == (("slow kernels", "took 1.25 times as much"), ("other kernels", "is no faster than that"))


@pytest.mark.parametrize(
    "entry",
    [
        faster("fast", "other"),
        faster("fast", "slow", op="Add"),
        faster("fast", "slow", types="float32, float32 by 1 -> float32"),
        faster("fast", "slow", shape="2x7, 2x7 -> 2x7"),
        faster("absent", "slow"),
        faster("slow", "slow"),
    ],
    ids=[
        "than another kernel",
        "another operator",
        "other types",
        "other shapes",
        "of a library that is not there",
        "with itself",
    ],
)
def test_what_was_compared_elsewhere_moves_nothing(entry):
    found = choice(product(), table(entry), "slow", "fast")
    assert (found.kernel.library, found.rule) == ("slow", "first library that accepts it")


def test_the_fastest_of_several_kernels_is_taken():
    known = table(faster("fast", "slow", ratio=0.8), faster("faster", "slow", ratio=0.7), faster("fastest", "other", ratio=0.1))
    assert choice(product(), known, "slow", "fast", "faster", "fastest").kernel.library == "faster"


def test_a_narrow_class_of_shapes_goes_before_a_wide_one():
    known = table(
        faster("fast", "slow", ratio=0.7), faster("fast", "slow", shape="2x6, 2x6 -> 2x6", ratio=0.9), faster("other", "slow")
    )
    assert choice(product(), known, "slow", "fast", "other").kernel.library == "other"


def test_costs_in_a_table_of_comparisons_decide_nothing():
    cost = '[[cost]]\nlibrary = "fast"\nkernel = "kernels"\nper_element = 1\n'
    assert choice(product(), table(cost), "slow", "fast").kernel.library == "fast"
    assert choice(product(), table("quicker = []", cost), "slow", "fast").kernel.library == "slow"


ONES = {"w": numpy.ones((1, 3), numpy.float32), "k": numpy.ones((2, 3, 2, 2), numpy.float32)}
ENDS = {"b": numpy.array([4]), "e": numpy.array([4])}
ZOOM = {"f": numpy.array([1, 1, 2, 2], numpy.float32)}


@pytest.mark.parametrize(
    "text, inputs, dims, constants, types, window, about, exact, sums",
    [
        ("Mul(a, b)", "float[1,6,8,10] a, float[6,1,1] b", "1,6,8,10", {},
         "float32, float32 by 1 -> float32", "", "1x4x8x8, 4x1x1 -> 1x4x8x8", "1x6x8x10, 6x1x1 -> 1x6x8x10", "outputs 256"),
        ("Mul(a, b)", "float[2,3] a, float b", "2,3", {},
         "float32, float32 by none -> float32", "", "2x2, one -> 2x2", "2x3, one -> 2x3", "outputs 4"),
        ("Mul(a, b)", "float[2,3] a, float[2,1] b", "2,3", {},
         "float32, float32 by 0 -> float32", "", "2x2, 2x1 -> 2x2", "2x3, 2x1 -> 2x3", "outputs 4"),
        ("MaxPool<kernel_shape=[3,2], strides=[2,2]>(x)", "float[1,6,9,8] x", "1,6,4,4", {},
         "float32 -> float32", "window 3x2 by 2x2", "1x4x8x8 -> 1x4x4x4", "1x6x9x8 -> 1x6x4x4", "outputs 64"),
        ("Gemm<transB=1>(x, w)", "float[1,3] x", "1,1", {"w": ONES["w"]},
         "float32, float32 constant -> float32", "", "1x2 -> 1x1", "1x3 -> 1x1", "terms 2, outputs 1"),
        ("Conv(x, k)", "float[1,3,5,5] x", "1,2,4,4", {"k": ONES["k"]},
         "float32, float32 constant -> float32", "window 2x2 by 1x1", "1x2x4x4 -> 1x2x4x4", "1x3x5x5 -> 1x2x4x4",
         "terms 8, outputs 32"),
        ("Slice(x, b, e)", "float[5,3] x", "0,3", ENDS, "float32 -> float32", "", "4x2 -> 0x2", "5x3 -> 0x3", "outputs 0"),
        ('Resize<mode="nearest">(x, , f)', "float[1,3,5,5] x", "1,3,10,10", ZOOM,
         "float32 -> float32, nearest, half_pixel, round_prefer_floor", "", "1x2x4x4 -> 1x2x8x8", "1x3x5x5 -> 1x3x10x10",
         "outputs 256"),
    ],
)  # fmt: skip
def test_classes_say_what_is_constant_and_what_is_repeated_from_coarse_to_fine(
    text, inputs, dims, constants, types, window, about, exact, sums
):
    view = graph(f"y = {text}", inputs=inputs, outputs=f"float[{dims}] y", constants=constants)
    seen = NodeView.of(view, view.nodes[0])
    terms, *outputs = sums.split(", ")
    narrow = (*([terms] if outputs else []), f"about {about}", exact)
    assert types_of(seen) == types and shape_class(seen) == sums
    assert shapes_of(seen) == ("", *filter(None, [window]), *(", ".join(filter(None, (one, window))) for one in narrow))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (faster("fast", "slow").replace("ratio = 0.8", "ratio = 0.96"), "4 layers, ratio 0.96, most 0.95"),
        (faster("fast", "slow").replace("most = 0.95", "most = 1.0"), "ratio 0.8, most 1.0"),
        (faster("fast", "slow").replace("layers = 4", "layers = 0"), "0 layers"),
        (faster("fast", "slow").replace("ratio = 0.8", "ratio = nan"), "ratio nan"),
        (faster("fast", "slow").replace("layers = 4\n", ""), "has no 'quicker.*layers'"),
        (faster("fast", "slow") + "worst = 1\n", "unknown key 'worst'"),
        ("quicker = 3", "wants a list"),
    ],
)
def test_comparisons_that_say_something_else_are_refused(data, message):
    with pytest.raises(AidgeError, match=message) as refused:
        table(data)
    assert refused.value.code == "COST"


@pytest.mark.requirement("COST")
def test_a_table_of_another_core_or_objective_is_refused(tmp_path):
    (tmp_path / "t.toml").write_text(HEAD)
    assert table_at(tmp_path / "t.toml", {"dsp"}, "balanced").name == "bench"
    with pytest.raises(AidgeError, match="was measured on a core with dsp, not with dsp fpu"):
        table_at(tmp_path / "t.toml", {"dsp", "fpu"}, "balanced")
    with pytest.raises(AidgeError, match="was measured under --optimize balanced, not speed"):
        table_at(tmp_path / "t.toml", {"dsp"}, "speed")


TWO = ("m = Mul (a, b)\ny = Mul (m, a)", "float[2,6] a, float[2,6] b", "float[2,6] y")
GROWING = ("m = Mul (a, a)\nn = Mul (m, b)\no = Mul (n, b)\ny = Mul (o, n)", "float[1,4] a, float[64,4] b", "float[64,4] y")


def planned_bytes(trial):
    return bytes_of_whole(trial, cache(partial(demands_of, trial)), Options(), None)


def fast_nodes(assignment):
    return {name for name, one in assignment.choices.items() if one.kernel and one.kernel.library == "fast"}


def moved(fast, *entries: str, net=TWO, bytes_of=planned_bytes):
    """Which products got another kernel than that of the library `slow`, and what was said."""
    source, inputs, outputs = net
    view = graph(source, inputs=inputs, outputs=outputs)
    libraries = [library("slow"), fast, *load_libraries(["ref"], find_libraries([]))[0]]
    target = Target(cost_table=table(*entries))
    preferred = adapt_to_backend(view, libraries, Target())
    found, decided, notices = with_faster(view, libraries, target, preferred, bytes_of)
    assert all(after <= before for after, before in zip(bytes_of(found), bytes_of(preferred)))
    return fast_nodes(found), decided.kept, notices


def test_layers_that_got_a_faster_kernel_are_named():
    names, kept, notices = moved(library("fast"), faster("fast", "slow"))
    assert names == {"Mul_0", "Mul_1"} and not kept
    assert notices == ("--select cost: measured faster: Mul_0: fast kernels, Mul_1: fast kernels",)


def test_no_kernel_is_taken_whose_scratch_makes_the_plan_larger():
    assert moved(library("fast", scratch=4096), faster("fast", "slow")) == (set(), {"Mul_0", "Mul_1"}, ())


@pytest.mark.parametrize("more", [(11, 10), (10, 11)], ids=["at the fullest moment", "in the arena as it is linked"])
def test_neither_of_both_counts_of_bytes_may_grow(more):
    def bytes_of(trial):
        return more if fast_nodes(trial) else (10, 10)

    assert moved(library("fast"), faster("fast", "slow"), bytes_of=bytes_of) == (set(), {"Mul_0", "Mul_1"}, ())


def test_no_kernel_is_taken_for_which_tensors_are_copied_into_another_format():
    """The copies would need no more bytes of the plan than there are."""
    image = ("y = Mul (a, b)", "float[1,2,3,4] a, float[1,2,3,4] b", "float[1,2,3,4] y")
    fast = library("fast", form="nhwc")
    assert moved(fast, faster("fast", "slow"), net=image, bytes_of=lambda trial: (10, 10)) == (set(), {"Mul_0"}, ())


def test_a_kernel_by_rows_gives_way_to_no_other_one():
    assert moved(library("fast", bands=False), faster("fast", "slow")) == (set(), {"Mul_0", "Mul_1"}, ())


def test_only_layers_that_would_need_more_memory_keep_their_kernels():
    """The first product is a small one, beside which there is room for scratch."""
    names, kept, notices = moved(library("fast", scratch=256), faster("fast", "slow"), net=GROWING)
    assert names == {"Mul_0"} and kept == {"Mul_2", "Mul_3"}
    assert notices == ("--select cost: measured faster: Mul_0: fast kernels; 2 more would need more memory",)


def test_trials_end_at_their_limit():
    """Each of 40 products needs more bytes with its quicker kernel: to find that takes 79 plans."""
    calls = []

    def bytes_of(trial):
        calls.append(trial)
        return 10 + len(fast_nodes(trial)), 10

    source = "\n".join(f"m{index + 1} = Mul (m{index}, a)" for index in range(40))
    net = (f"m0 = Mul (a, a)\n{source}\ny = Mul (m40, a)", "float[2,6] a", "float[2,6] y")
    names, kept, _ = moved(library("fast"), faster("fast", "slow"), net=net, bytes_of=bytes_of)
    assert names == set() and len(kept) == 42 and len(calls) == MOST_TRIALS + 3  # the limit, and two in `moved`


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.toml")), ids=lambda path: path.stem)
def test_the_shipped_tables_compare_kernels_that_are_there(path):
    known = read_cost_table(path.read_bytes(), str(path))
    assert known.quicker is not None and known.features is not None and path.name == file_name(known.features)
    named = {(one.library, one.kernel) for one in known.entries}
    named |= {(one.library, one.kernel) for one in known.quicker} | {tuple(one.than.split()) for one in known.quicker}
    libraries, _ = load_libraries(sorted({name for name, _ in named}), find_libraries([]))
    assert named <= {(kernel.library, kernel.name) for one in libraries for kernel in one.kernels}
