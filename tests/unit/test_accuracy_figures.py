# SPDX-License-Identifier: MIT
"""Figures of merit against their definitions: intervals, areas under curves, errors, and the limits on them."""

from __future__ import annotations

import math

import numpy
import pytest

from aidge_build.base.errors import AidgeError
from aidge_build.graph.dtype import DType
from aidge_build.graph.quantization import per_tensor
from aidge_build.graph.tensor import Tensor
from aidge_build.graph.view import GraphView, Node
from aidge_build.measure.accuracy.document import agreement, agreement_lines, same_answers
from aidge_build.measure.accuracy.figures import Figures, confusion, errors, roc_auc, top1, wilson
from aidge_build.measure.accuracy.gate import verdicts
from aidge_build.measure.accuracy.labelled import NO_LABEL, labelled_set, shared_samples
from aidge_build.measure.accuracy.stages import deviations, stage
from aidge_build.measure.accuracy.task import judged, task_of, tasks_of
from aidge_build.measure.accuracy.texts import limit_line
from aidge_build.operators.activation import ReLU
from aidge_build.prepare.input_samples import Samples, fed, is_channels_last

RANDOM = numpy.random.default_rng


def view(elements: int = 4, outputs: int = 3, inputs=("in",)) -> GraphView:
    tensors = {name: Tensor(name, (1, elements), DType.float32) for name in inputs}
    tensors["out"] = Tensor("out", (1, outputs), DType.float32)
    return GraphView("m", (Node("n", ReLU(), (inputs[0],), ("out",)),), tensors, tuple(inputs), ("out",))


def samples(labels=None, targets=None, count: int = 2, elements: int = 4, outputs: int = 3, **more):
    arrays = {"x": numpy.zeros((count, elements), numpy.float32), **more}
    arrays |= {} if labels is None else {"labels": numpy.array(labels)}
    arrays |= {} if targets is None else {"targets": numpy.array(targets)}
    return labelled_set(arrays, view(elements, outputs))


@pytest.mark.parametrize(
    "correct, count, low, high",
    # R. G. Newcombe, "Two-sided confidence intervals for the single proportion", Statistics in Medicine 17 (1998), method 3.
    [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718)],
)
def test_the_interval_is_wilsons(correct, count, low, high):
    found = wilson(correct, count)
    assert (round(found[0], 4), round(found[1], 4)) == (low, high)


def test_the_interval_of_all_right_answers_ends_at_one_and_mirrors_that_of_none():
    low, high = wilson(20, 20)
    assert high == 1.0 and math.isclose(low, 1 - wilson(0, 20)[1])


def test_the_area_under_the_curve_is_that_of_scikit_learn_with_equal_scores_too():
    metrics = pytest.importorskip("sklearn.metrics", reason="scikit-learn is not installed")
    for seed in range(20):
        random = RANDOM(seed)
        labels = random.integers(0, 2, 30)
        scores = random.integers(0, 6, 30).astype(float)
        assert math.isclose(roc_auc(scores, labels), metrics.roc_auc_score(labels, scores), abs_tol=1e-12)


def test_the_area_counts_pairs():
    assert roc_auc(numpy.array([0.1, 0.4, 0.35, 0.8]), numpy.array([0, 0, 1, 1])) == 0.75
    assert roc_auc(numpy.array([1.0, 1.0]), numpy.array([0, 1])) == 0.5


@pytest.mark.parametrize("labels", [[0, 0], [1, 1]])
def test_there_is_no_area_without_both_classes(labels):
    assert roc_auc(numpy.array([0.0, 1.0]), numpy.array(labels)) is None


def test_a_confusion_matrix_has_labels_as_rows_and_answers_as_columns():
    assert confusion(numpy.array([1, 1, 0]), numpy.array([0, 1, 0]), 3) == ((1, 1, 0), (0, 1, 0), (0, 0, 0))


def test_errors_are_what_is_got_minus_what_is_true():
    found = errors(numpy.array([[3.0], [1.0]]), numpy.array([[1.0], [2.0]]))
    assert (found.mean_error, found.mae) == (0.5, 1.5)
    assert math.isclose(found.rmse, math.sqrt(2.5))
    assert math.isclose(found.r2, 1 - 2.5 / 0.25)


def test_of_targets_that_do_not_vary_nothing_can_be_explained():
    assert errors(numpy.array([[1.0], [3.0]]), numpy.array([[2.0], [2.0]])).r2 is None


def test_variance_is_that_of_each_element_about_its_own_mean():
    targets = numpy.array([[0.0, 100.0], [2.0, 102.0]])
    assert errors(targets + 1, targets).r2 == 0.0


@pytest.mark.parametrize(
    "labels, targets, outputs, wanted",
    [
        ([0, 2], None, 3, "classes"),
        ([0, 1], None, 1, "scores"),
        ([0, 1], None, 4, "anomaly"),
        ([0, 3], None, 4, "classes"),
        (None, [[0.0] * 3] * 2, 3, "regression"),
    ],
)
def test_what_outputs_are_for_is_seen_by_the_file(labels, targets, outputs, wanted):
    given = samples(labels, targets, outputs=outputs)
    task = task_of(given, {"out": numpy.zeros((2, outputs))}, {"in": numpy.zeros((2, 4))})
    assert (task.kind, task.output) == (wanted, "out")


def test_probabilities_begin_at_one_half_and_logits_at_zero():
    given, inputs = samples([0, 1], outputs=1), {"in": numpy.zeros((2, 4))}
    for values, threshold, right in (([[0.4], [0.6]], 0.5, 2), ([[0.4], [2.0]], 0.0, 1)):
        outputs = {"out": numpy.array(values)}
        task = task_of(given, outputs, inputs)
        found = judged(task, given, outputs, inputs)
        assert (task.threshold, found.top1.correct, found.auc) == (threshold, right, 1.0)


NUMBERS = {"out": numpy.array([[2], [0], [1], [0]])}  # int64: integers without a scale


def test_an_integer_without_a_scale_is_the_number_of_a_class_and_has_no_area():
    given, inputs = samples([2, 0, 0, 1], count=4, outputs=1), {"in": numpy.zeros((4, 4))}
    task = task_of(given, NUMBERS, inputs)
    found = judged(task, given, NUMBERS, inputs)
    assert task.kind == "decisions" and (found.top1.correct, found.top1.count, found.auc) == (2, 4, None)
    assert found.confusion == ((1, 1, 0), (1, 0, 0), (0, 0, 1))
    with pytest.raises(
        AidgeError, match="--min-auc: these answers have no such figure. Hint: an area under the curve needs scores"
    ):
        verdicts({"min-auc": 0.5}, found, None)


def test_a_number_beyond_all_classes_is_wrong_and_leaves_the_matrix_out():
    given, inputs = samples([2, 0, 0, 1], count=4, outputs=1), {"in": numpy.zeros((4, 4))}
    task = task_of(given, NUMBERS, inputs)
    for bad in (-1, 1 << 40, 1.5):
        outputs = {"out": numpy.array([[2], [0], [bad], [1]])}
        found = judged(task, given, outputs, inputs)
        assert (found.top1.correct, found.confusion) == (3, ())


def test_integers_that_become_negative_are_scores_and_values_between_numbers_are_no_decisions():
    given, inputs = samples([0, 1], outputs=1), {"in": numpy.zeros((2, 4))}
    assert task_of(given, {"out": numpy.array([[-7], [9]])}, inputs).kind == "scores"
    assert task_of(given, {"out": numpy.array([[1.0], [0.0]])}, inputs, "decisions").kind == "decisions"
    with pytest.raises(AidgeError, match="--task decisions: output 'out' holds values that are no whole numbers"):
        task_of(given, {"out": numpy.array([[0.5], [1.0]])}, inputs, "decisions")
    with pytest.raises(AidgeError, match="--task: a decision is one value, output 'out' has 3"):
        task_of(given, {"out": numpy.zeros((2, 3))}, inputs, "decisions")


@pytest.mark.parametrize(
    "outputs", [NUMBERS, {"out": numpy.eye(3)[[2, 0, 1, 0]]}, {"out": numpy.array([[0.9], [0.8], [0.1], [0.2]])}]
)
def test_a_sample_without_a_label_is_not_judged(outputs):
    given, inputs = samples([NO_LABEL, 0, NO_LABEL, 1], count=4, outputs=outputs["out"].shape[1]), {"in": numpy.zeros((4, 4))}
    found = judged(task_of(given, outputs, inputs), given, outputs, inputs)
    assert found.top1.count == sum(map(sum, found.confusion)) == 2


def test_samples_without_any_label_are_refused():
    with pytest.raises(AidgeError, match="the label of all 2 samples is -100"):
        task_of(samples([NO_LABEL, NO_LABEL]), {"out": numpy.zeros((2, 3))}, {"in": numpy.zeros((2, 4))})


def test_numbers_are_compared_with_the_reference_one_by_one_and_have_no_distance():
    stages = [
        stage(name, "", view(outputs=1), {}, {"out": values})
        for name, values in (("a", NUMBERS["out"]), ("b", NUMBERS["out"] * 2))
    ]
    assert same_answers(stages[1], stages[0]) == 2 and deviations(stages[1].outputs, stages[0].outputs) == {}
    (line,) = agreement_lines(agreement("m", stages, 4, None, None), "the float model")[1:]
    assert line == "b (): same answer in 2 of 4"


@pytest.mark.parametrize("is_float_first", [True, False])
def test_a_float_model_that_hands_out_scores_is_compared_with_a_model_that_hands_out_the_number(is_float_first):
    given = samples([2, 0, 0, 1], count=4)
    scores = stage("scores", "", view(), {}, {"out": numpy.eye(3)[[2, 0, 1, 1]]})
    number = stage("number", "", view(outputs=1), {}, NUMBERS)
    stages = [scores, number] if is_float_first else [number, scores]
    tasks = tasks_of(given, stages, "auto", "out")
    found = {one.name: judged(task, given, one.outputs, {}).top1.correct for one, task in zip(stages, tasks)}
    assert found == {"scores": 3, "number": 2} and same_answers(*stages) == 3


def test_both_stages_of_one_output_have_one_threshold():
    given = samples([0, 1], outputs=1)
    stages = [stage("", "", view(outputs=1), {}, {"out": numpy.array([[low], [0.9]])}) for low in (-0.1, 0.1)]
    assert [task.threshold for task in tasks_of(given, stages, "auto", "out")] == [0.0, 0.0]


def test_an_anomaly_score_is_the_mean_squared_error_of_the_copy():
    given = samples([1, 0], outputs=4)
    inputs = {"in": numpy.array([[1.0, 0, 0, 0], [0, 0, 0, 0.5]])}
    outputs = {"out": numpy.zeros((2, 4))}
    assert judged(task_of(given, outputs, inputs), given, outputs, inputs).auc == 1.0
    assert judged(task_of(given, outputs, inputs), samples([0, 1], outputs=4), outputs, inputs).auc == 0.0


def test_two_classes_have_an_area_too():
    given, inputs = samples([0, 1, 1], count=3, outputs=2), {"in": numpy.zeros((3, 4))}
    outputs = {"out": numpy.array([[0.9, 0.1], [0.6, 0.4], [0.2, 0.8]])}
    found = judged(task_of(given, outputs, inputs), given, outputs, inputs)
    assert (found.top1.correct, found.auc) == (2, 1.0)


@pytest.mark.parametrize(
    "change, words",
    [
        ({"labels": None}, "there is no array 'labels' or 'targets'"),
        ({"labels": [0]}, "2 samples have 1 entry in 'labels'"),
        ({"labels": [0.5, 1.0]}, "array labels is float64[2]"),
        ({"labels": [-1, 1]}, "array labels is int64[2] with numbers of no class"),
        ({"labels": numpy.array([0, 2**64 - 100], numpy.uint64)}, "array labels is uint64[2] with numbers of no class"),
        ({"labels": ["low", "high"]}, "array labels is <U4[2]"),
        ({"x": numpy.array([[numpy.nan] * 4] * 2, numpy.float32)}, "array x holds NaN or infinity in 2 of 2 samples"),
        ({"x": numpy.array([[0.0] * 4, [1e300] * 4])}, "array x holds NaN or infinity as float32 in 1 of 2 samples"),
        ({"x": numpy.zeros((0, 4), numpy.float32)}, "the inputs have [0] samples"),
        ({"labels": None, "targets": [[1.0], [2.0]]}, "array targets is float64[2, 1], output 'out' has 3 values"),
        (
            {"labels": None, "targets": [[0.0] * 3, [numpy.inf] * 3]},
            "infinity in 1 of 2 samples. Hint: the first one has the index 1",
        ),
        ({"x_scale": numpy.zeros(2)}, "x_scale and x_zero_point are one number each"),
    ],
)
def test_a_file_that_cannot_be_meant_is_refused(change, words):
    with pytest.raises(AidgeError) as refused:
        samples(**{"labels": [0, 1], **change})
    assert words in str(refused.value)


@pytest.mark.requirement("VECTORS")
def test_a_label_beyond_the_outputs_is_refused():
    with pytest.raises(AidgeError, match="a label is 3, output 'out' has 3 values"):
        task_of(samples([0, 3]), {"out": numpy.zeros((2, 3))}, {"in": numpy.zeros((2, 4))})


def test_an_input_is_found_by_its_own_name_by_its_x_name_and_as_x():
    zeros = numpy.zeros((2, 4), numpy.float32)
    for names in (("a", "b"), ("x_a", "b")):
        found = labelled_set({**dict.fromkeys(names, zeros), "labels": numpy.array([0, 1])}, view(inputs=("a", "b")))
        assert list(found.inputs) == ["a", "b"]
    with pytest.raises(AidgeError, match="there is no array for input 'a'"):
        labelled_set({"x": zeros, "labels": numpy.array([0, 1])}, view(inputs=("a", "b")))


def quantized(dtype=DType.int8, quantization=per_tensor(0.5, 10)) -> Tensor:
    return Tensor("in", (1, 4), dtype, quantization=quantization)


def test_real_samples_are_quantized_as_the_model_says():
    given = samples([0, 1], x=numpy.array([[-100.0, 0.25, 0.75, 100.0]] * 2, numpy.float32))
    assert fed(given, "in", quantized(), None)[0].tolist() == [[-128, 10, 12, 127]]


def test_stored_samples_become_real_by_the_file_or_by_the_quantized_model():
    stored = numpy.array([[8, 10, 12, 14]] * 2, numpy.int8)
    tensor = Tensor("in", (1, 4), DType.float32)
    by_model = fed(samples([0, 1], x=stored), "in", tensor, per_tensor(0.5, 10))
    by_file = fed(samples([0, 1], x=stored, x_scale=numpy.float32(0.25)), "in", tensor, per_tensor(0.5, 10))
    assert by_model[0].tolist() == [[-1.0, 0.0, 1.0, 2.0]] and by_file[0].tolist() == [[2.0, 2.5, 3.0, 3.5]]
    with pytest.raises(AidgeError, match="the samples of input 'in' are int8, the model takes float32"):
        fed(samples([0, 1], x=stored), "in", tensor, None)


def test_stored_samples_of_another_scale_are_converted_by_both():
    stored = numpy.array([[8, 10, 12, 14]] * 2, numpy.int8)
    scales = {"x_scale": numpy.float32(0.25), "x_zero_point": numpy.int32(10)}
    assert fed(samples([0, 1], x=stored, **scales), "in", quantized(), None).tolist() == [[[9, 10, 11, 12]]] * 2
    own = scales | {"x_scale": numpy.float32(0.5)}
    assert fed(samples([0, 1], x=stored, **own), "in", quantized(), None).tolist() == stored[:, None].tolist()


def test_samples_of_another_size_are_refused():
    with pytest.raises(AidgeError, match=r"have dims \[5\], the model takes \[1, 4\]"):
        fed(samples([0, 1], x=numpy.zeros((2, 5), numpy.float32)), "in", Tensor("in", (1, 4), DType.float32), None)


def test_images_with_channels_first_fit_a_model_that_takes_them_last():
    images = numpy.arange(2 * 3 * 4 * 5, dtype=numpy.float32).reshape(2, 3, 4, 5)
    last = Tensor("in", (1, 4, 5, 3), DType.float32)
    for given in (images, images[:, None], images.transpose(0, 2, 3, 1)):
        found = fed(Samples({"in": given}), "in", last, None)
        assert numpy.array_equal(found[:, 0], images.transpose(0, 2, 3, 1))
    assert is_channels_last((1, 4, 5, 3), (1, 3, 4, 5)) and not is_channels_last((1, 3, 4, 5), (1, 4, 5, 3))
    with pytest.raises(AidgeError, match=r"have dims \[5, 4, 3\], the model takes \[1, 4, 5, 3\]"):
        fed(Samples({"in": images.transpose(0, 3, 2, 1)}), "in", last, None)


def test_shared_samples_are_counted_by_all_their_inputs():
    first = {"a": numpy.arange(6.0).reshape(3, 2), "b": numpy.zeros((3, 1))}
    other = {"a": numpy.array([[2.0, 3.0], [4.0, 5.0], [4.0, 5.0]]), "b": numpy.array([[0.0], [1.0], [0.0]])}
    assert shared_samples(first, other) == 2
    assert shared_samples(first, {"a": first["a"]}) == 0


ANSWERS = Figures(top1(numpy.array([0, 1, 1, 0]), numpy.array([0, 1, 1, 1])), auc=0.9)
FLOAT = Figures(top1(numpy.array([0, 1, 1, 1]), numpy.array([0, 1, 1, 1])))
VALUES = Figures(errors=(("y", errors(numpy.array([[3.0], [1.0]]), numpy.array([[1.0], [2.0]]))),))


@pytest.mark.parametrize(
    "name, limit, figures, kept",
    [
        ("min-top1", 0.75, ANSWERS, True),
        ("min-top1", 0.7501, ANSWERS, False),
        ("min-auc", 0.9, ANSWERS, True),
        ("min-auc", 0.91, ANSWERS, False),
        ("max-loss", 0.25, ANSWERS, True),
        ("max-loss", 0.2499, ANSWERS, False),
        ("max-mae", 1.5, VALUES, True),
        ("max-mae", 1.4, VALUES, False),
        ("max-rmse", 1.6, VALUES, True),
        ("max-rmse", 1.5, VALUES, False),
        ("min-r2", -9.0, VALUES, True),
        ("min-r2", -8.9, VALUES, False),
    ],
)
def test_a_limit_is_kept_up_to_its_own_value(name, limit, figures, kept):
    (found,) = verdicts({name: limit}, figures, FLOAT)
    assert found.kept == kept and limit_line(found.as_json()).startswith("kept" if kept else "FAILED")


@pytest.mark.parametrize("name, figures", [("min-top1", VALUES), ("min-auc", VALUES), ("max-mae", ANSWERS), ("min-r2", ANSWERS)])
def test_a_limit_of_a_figure_that_is_not_there_is_refused(name, figures):
    with pytest.raises(AidgeError, match=f"--{name}: these answers have no such figure"):
        verdicts({name: 0.5}, figures, None)


def test_a_limit_in_percent_is_refused_with_the_share_to_type():
    with pytest.raises(AidgeError, match="--min-top1: is 97. Hint: a share in parts of 1: --min-top1 0.97 for 97 %"):
        verdicts({"min-top1": 97.0}, ANSWERS, None)


def test_a_loss_without_the_float_model_is_refused():
    with pytest.raises(AidgeError, match="there is no float model to compare with"):
        verdicts({"max-loss": 0.1}, ANSWERS, None)
