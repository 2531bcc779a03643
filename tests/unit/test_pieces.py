# SPDX-License-Identifier: MIT
"""A layer in pieces: its bands follow each other, and its output overlaps its input as far as they allow, by the replay."""

from __future__ import annotations

import argparse
from dataclasses import replace

import numpy
import pytest

from aidge_build.base.errors import AidgeError, CheckFailed
from aidge_build.build.compile import build_program, import_model
from aidge_build.build.inputs import add_model_arguments, load
from aidge_build.contract.spec import Demands, NodeView
from aidge_build.operators import builtin_operators
from aidge_build.plan.cascade.kernels import BandKernels
from aidge_build.plan.cascade.pieces import Cut, PieceMoves, cut
from aidge_build.plan.cascade.row_layer import RowLayer
from aidge_build.plan.cascade.row_table import Bands
from aidge_build.plan.cascade.waiting import Waiting
from aidge_build.plan.memory.replay import Span, replay
from aidge_build.plan.program import Program
from aidge_build.prepare.adaptation.adapt import adapt_to_backend
from aidge_build.sources.formats.onnx.importer import import_onnx
from tests.models import model
from tests.row_models import image_classifier, quantized, running_image


def program_of(folder, data: bytes, *words: str) -> Program:
    (folder / "net.onnx").write_bytes(data)
    parser = argparse.ArgumentParser()
    add_model_arguments(parser)
    return build_program(load(parser.parse_args([str(folder / "net.onnx"), *words]), "net"))


def chain(*layers: str, height: int = 12) -> bytes:
    """int8 layers on images of 8 columns and 4 channels: "conv", "stride", "pool", "half", "sigmoid"."""
    weights = numpy.random.default_rng(1).integers(-127, 128, (4, 4, 3, 3)).astype(numpy.int8)
    text, last = ["d_x = DequantizeLinear(x, scale, zero) d_w = DequantizeLinear(w, small, zero)"], "x"
    kinds = {
        "conv": "Conv<pads = [1, 1, 1, 1]>(d_{0}, d_w)",
        "stride": "Conv<pads = [1, 1, 1, 1], strides = [2, 2]>(d_{0}, d_w)",
        "pool": "MaxPool<kernel_shape = [3, 3], pads = [1, 1, 1, 1], strides = [1, 1]>(d_{0})",
        "half": "MaxPool<kernel_shape = [2, 2], strides = [2, 2]>(d_{0})",
        "sigmoid": "Sigmoid(d_{0})",
    }
    for number, kind in enumerate(layers):
        text.append(quantized(f"t{number}", kinds[kind].format(last)))
        last = f"t{number}"
    text.append(f"f_y = GlobalAveragePool(d_{last}) y = QuantizeLinear(f_y, scale, zero)")
    constants = {"w": weights, "scale": numpy.float32(1 / 32), "small": numpy.float32(1 / 500), "zero": numpy.int8(0)}
    return model(" ".join(text), inputs=f"int8[1,4,{height},8] x", outputs="int8[1,4,1,1] y", constants=constants)


def cut_of(folder, data: bytes, kind: str, rows: int, first_rows: int = 0) -> tuple[Cut, tuple[str, ...]]:
    """The first layer of this type in bands of at most so many rows (the first band, of `first_rows`), and its inputs."""
    (folder / "net.onnx").write_bytes(data)
    parser = argparse.ArgumentParser()
    add_model_arguments(parser)
    request = load(parser.parse_args([str(folder / "net.onnx"), "--board", "stm32f4"]), "net")
    view, _ = import_model(request)
    assignment = adapt_to_backend(view, request.libraries, request.target)
    kernels = BandKernels(assignment, request.libraries, request.target)
    node = next(node for node in assignment.view.nodes if node.type == kind)
    layer = kernels.layer(node)
    found = cut(kernels, layer, lambda one, band, sizes: band[1] - band[0] <= (rows if band[0] else first_rows or rows))
    assert found is not None
    return found, node.inputs


def test_bands_are_as_small_as_the_one_with_the_least_room_wants(tmp_path):
    found, _ = cut_of(tmp_path, chain("conv"), "Conv2D", rows=4, first_rows=2)
    assert [(step.first, step.last) for step in found.cascade.steps] == [(first, first + 2) for first in range(0, 12, 2)]


@pytest.mark.parametrize(
    "kind, layers, rows",
    [("Conv2D", ("conv",), 6), ("Conv2D", ("conv",), 3), ("Conv2D", ("stride",), 2), ("MaxPooling2D", ("pool",), 5)],
)
def test_the_fewest_bands_are_taken_that_fit_and_they_are_all_rows_once(kind, layers, rows, tmp_path):
    found, _ = cut_of(tmp_path, chain(*layers), kind, rows)
    height = 6 if layers == ("stride",) else 12
    bands = found.cascade.bands_of(found.cascade.nodes[0])
    assert bands[0][0] == 0 and bands[-1][1] == height and all(one[1] == other[0] for one, other in zip(bands, bands[1:]))
    assert len(bands) == -(-height // rows) and found.cascade.is_cut and not found.cascade.lines


def replayed(found: Cut, inputs: tuple[str, ...], lead: int, in_place: bool = False) -> None:
    """Replays the layer whose output begins so many bytes before its input."""
    tensor, output = inputs[0], found.cascade.steps[0].writes.tensor
    rows = found.cascade.steps[-1].reads[0].last
    height = found.cascade.steps[-1].last
    data, result = Span("arena", lead, rows * 32), Span("arena", 0, height * 32)
    spans = {tensor: data, output: result} if not in_place else {tensor: result, output: result}
    moves = PieceMoves(found.cascade, inputs, spans, {tensor: rows, output: height}, None)
    replay(moves.moves, {**spans, **moves.rows}, {"arena": 4096}, moves.unwritten, [tensor], [output])


def test_an_output_begins_as_few_bytes_before_its_input_as_bands_allow(tmp_path):
    found, inputs = cut_of(tmp_path, chain("conv"), "Conv2D", 3)
    ((position, lead),) = found.sharing.overlap
    assert position == 0 and not found.sharing.in_place and 32 <= lead < 12 * 32
    replayed(found, inputs, lead)
    with pytest.raises(CheckFailed):
        replayed(found, inputs, lead - 1)


def test_a_stride_reads_on_faster_than_it_writes_and_needs_less_before(tmp_path):
    plain, inputs = cut_of(tmp_path, chain("conv"), "Conv2D", 1)
    stride, others = cut_of(tmp_path, chain("stride"), "Conv2D", 1)
    assert dict(stride.sharing.overlap)[0] < dict(plain.sharing.overlap)[0]


def test_what_is_computed_element_by_element_stays_in_place_in_bands_too(tmp_path):
    found, inputs = cut_of(tmp_path, chain("conv", "sigmoid"), "Sigmoid", 5)
    assert found.sharing.in_place[:1] == (0,)
    replayed(found, inputs, 0, in_place=True)


class Kernels:
    """Of layers whose bands ask for nothing, or are refused, or do not agree."""

    def __init__(self, refuses: bool = False, disagrees: bool = False):
        self.refuses, self.disagrees = refuses, disagrees

    def demands(self, layer: RowLayer, bands: Bands) -> Demands | None:
        return None if self.refuses else Demands(bands=True)

    def of_band(self, layer: RowLayer, band: tuple[int, int], sizes: tuple[int, int]) -> Demands | None:
        return self.demands(layer, (band,))

    def agree(self, layer: RowLayer, bands: Bands) -> bool:
        return not self.disagrees


def rows_of_pieces(text: str, inputs: str, outputs: str, most: int, kernels: Kernels | None = None, **constants) -> list[int]:
    """The rows of the pieces of a layer if a piece may have at most so many."""
    view, _ = import_onnx(model(text, inputs=inputs, outputs=outputs, constants=constants), "n", builtin_operators(), {}, {})
    layer = RowLayer.of(NodeView.of(view, view.nodes[0]))
    found = cut(kernels or Kernels(), layer, lambda one, band, sizes: band[1] - band[0] <= most)
    return [step.last - step.first for step in found.cascade.steps] if found else []


@pytest.mark.parametrize(
    "width, most, pieces",
    [(3, 7, [4] * 4), (3, 3, []), (4, 7, [6, 6, 4]), (4, 3, [3, 3, 3, 3, 3, 1]), (2, 7, [6, 6, 4]), (2, 3, [2] * 8), (4, 0, [])],
)
def test_pieces_have_rows_that_begin_at_a_multiple_of_four_bytes(width, most, pieces):
    assert rows_of_pieces("y = Neg(x)", f"int8[1,1,16,{width}] x", f"int8[1,1,16,{width}] y", most) == pieces


def test_a_layer_whose_bands_are_refused_or_do_not_agree_or_that_skips_the_first_rows_has_no_pieces():
    shape = "int8[1,1,16,4]"
    assert rows_of_pieces("y = Neg(x)", f"{shape} x", f"{shape} y", 8) == [8, 8]
    assert rows_of_pieces("y = Neg(x)", f"{shape} x", f"{shape} y", 8, Kernels(refuses=True)) == []
    assert rows_of_pieces("y = Neg(x)", f"{shape} x", f"{shape} y", 8, Kernels(disagrees=True)) == []
    for begin, pieces in ((0, [7, 7]), (2, [])):
        ends = {"begin": numpy.array([begin]), "end": numpy.array([begin + 14]), "axis": numpy.array([2])}
        assert rows_of_pieces("y = Slice(x, begin, end, axis)", f"{shape} x", "int8[1,1,14,4] y", 8, **ends) == pieces


def test_the_output_of_a_layer_that_takes_its_input_in_by_parts_shares_nothing():
    made = model("y = GlobalAveragePool(x)", inputs="float[1,1,16,4] x", outputs="float[1,1,1,1] y")
    view, _ = import_onnx(made, "n", builtin_operators(), {}, {})
    layer = RowLayer.of(NodeView.of(view, view.nodes[0]))
    found = cut(Kernels(), layer, lambda one, band, sizes: band[1] - band[0] <= 8)
    assert layer.in_parts and [step.last for step in found.cascade.steps] == [8, 16] and found.sharing == Demands()


@pytest.mark.parametrize("pointers, pointer_bytes, size_bytes, alignment", [(3, 4, 16, 4), (3, 8, 32, 8), (0, 4, 4, 2)])
def test_without_cascades_a_step_keeps_pointers_and_two_counters(pointers, pointer_bytes, size_bytes, alignment):
    waiting = Waiting.of((), pointers)
    assert (waiting.size_bytes(pointer_bytes), waiting.alignment(pointer_bytes)) == (size_bytes, alignment)


def test_layers_in_pieces_keep_the_memory_of_whole_ones_where_they_may_overlap(tmp_path):
    data = chain("conv", "sigmoid", "stride", "pool")
    whole = program_of(tmp_path, data, "--board", "stm32f4")
    cut_up = program_of(tmp_path, data, "--board", "stm32f4", "--max-step", "6000")
    pieces = [cascade for cascade in cut_up.schedule.cascades if cascade.is_cut]
    assert pieces and cut_up.step_count == len(cut_up.layers) + sum(len(one.steps) - 1 for one in pieces)
    assert whole.memory.peak.peak_bytes <= cut_up.memory.peak.peak_bytes <= whole.memory.peak.peak_bytes + 200
    assert cut_up.waiting.cursors == 2 and cut_up.waiting.size_bytes(4) == 2 * 4 + 2 * 4 + 4 and whole.waiting is None


def test_cascades_for_memory_have_steps_that_are_short_enough(tmp_path):
    data, words = image_classifier(height=64, width=16), ("--board", "stm32f4", "--ram-budget", "3300")
    free, bound = (program_of(tmp_path, data, *words, *more) for more in ((), ("--max-step", "8000")))
    rows = [max(max(one.rows_of.values()) for one in program.schedule.cascades if not one.is_cut) for program in (free, bound)]
    assert rows[0] > rows[1] and bound.memory.peak.peak_bytes <= 3300


@pytest.mark.requirement("STEP")
def test_a_layer_that_cannot_be_cut_finely_enough_is_refused_with_the_smallest_step_that_can_be(tmp_path):
    with pytest.raises(AidgeError, match="no step of 500 computes it") as refused:
        program_of(tmp_path, chain("conv"), "--board", "stm32f4", "--max-step", "500")
    least = int(refused.value.hint.split()[1])
    assert refused.value.code == "STEP" and 500 < least < 20_000
    with pytest.raises(AidgeError) as again:
        program_of(tmp_path, chain("conv"), "--board", "stm32f4", "--max-step", str(least * 9 // 10))
    assert again.value.code == "STEP"


@pytest.mark.parametrize("max_step, is_together", [(1_000_000, True), (3_000, False)])
def test_layers_of_one_kernel_come_apart_if_their_rows_together_are_too_long(max_step, is_together, tmp_path):
    found = program_of(tmp_path, chain("conv", "half", height=8), "--board", "mps2-an386", "--max-step", str(max_step))
    assert ("conv_pool_int8" in [layer.kernel.name for layer in found.layers]) is is_together


def test_the_step_that_a_refusal_names_is_long_enough_for_every_layer(tmp_path):
    data, words = chain("sigmoid", "conv", "pool"), ("--board", "stm32f4", "--max-step")
    with pytest.raises(AidgeError, match="no step of 150 computes it") as refused:
        program_of(tmp_path, data, *words, "150")
    step, *rest = refused.value.hint.split()[1:]
    assert rest == ["is", "possible"] and program_of(tmp_path, data, *words, step).options.max_step == int(step)


def test_next_values_of_states_are_copied_in_one_step_after_all_others(tmp_path):
    words = ("--board", "stm32f4", "--state", "n=s")
    whole = program_of(tmp_path, running_image(), *words)
    steps = program_of(tmp_path, running_image(), *words, "--max-step", "90000")
    assert not whole.stores and [layer.node.name for layer in steps.stores] == [steps.layers[-1].node.name]
    assert replace(steps.options, max_step=0) == whole.options
