# SPDX-License-Identifier: MIT
"""Problem files: what is read is what was written, identities are left out by definition, and every damage is refused."""

from __future__ import annotations

import json
from random import Random

import pytest

from aidge_build.base.errors import AidgeError
from aidge_build.plan.schedule.order import best_order
from aidge_build.plan.schedule.problem_file import IDENTITIES, read_problem
from tests.unit.test_schedule_order import random_question

KINDS = ("CONV", "RESHAPE", "opRESHAPE", "IDENTITY", "opADD", "")


def content_of(seed: int) -> dict:
    random, question = Random(seed), random_question(seed)
    sizes = [random.choice((5, 5, 5, 7)) for _ in question.sizes]
    operations = [
        {"inputs": list(one.inputs), "outputs": list(one.outputs), "type": random.choice(KINDS)} for one in question.operations
    ]
    for one in operations[::3]:
        one.pop("type")
    return {
        "tensors": sizes,
        "ops": operations,
        "inputs": list(question.inputs),
        "outputs": list(question.outputs),
        "expected": 3,
    }


def read(content: object, **options):
    return read_problem(json.dumps(content).encode(), "p.json", **options)


def test_a_graph_is_read_as_it_was_written_and_its_tensors_live_as_long_as_an_order_needs_them():
    for seed in range(40):
        content = content_of(seed)
        found = read(content)
        assert [(list(one.inputs), list(one.outputs)) for one in found.question.operations] == [
            (one["inputs"], one["outputs"]) for one in content["ops"]
        ]
        assert (list(found.question.sizes), found.numbers) == (content["tensors"], tuple(range(6)))
        assert found.types == tuple(one.get("type", "").removeprefix("op") for one in content["ops"])
        order = best_order(found.question)
        steps = [content["ops"][index] for index in order.order]
        for buffer in found.buffers(order):
            tensor = int(buffer.name)
            writes = [step for step, one in enumerate(steps) if tensor in one["outputs"]]
            reads = [step for step, one in enumerate(steps) if tensor in one["inputs"]]
            is_port = tensor in content["inputs"] + content["outputs"]
            kept = tensor in content["outputs"] or not writes and not reads
            assert (buffer.first, buffer.last) == (min(writes, default=0), 6 if kept else max(reads + writes) + 1)
            assert (buffer.size_bytes, buffer.alignment) == (content["tensors"][tensor], 1)
            assert buffer.kind == ("io" if is_port else "activation")
        names = [found.step_name(order, step) for step in range(7)]
        assert names == [*(f"op {index} {found.types[index]}".strip() for index in order.order), "the start"]


def test_an_identity_is_left_out_if_it_copies_one_tensor_of_its_size_to_no_output():
    dropped = 0
    for seed in range(60):
        content = content_of(seed)
        sizes, copied = content["tensors"], {}
        for one in content["ops"]:
            is_one = len(one["inputs"]) == len(one["outputs"]) == 1 and one.get("type", "").removeprefix("op") in IDENTITIES
            if is_one and sizes[one["inputs"][0]] == sizes[one["outputs"][0]] and one["outputs"][0] not in content["outputs"]:
                copied[one["outputs"][0]] = copied.get(one["inputs"][0], one["inputs"][0])
        found = read(content, drop_identities=True)
        left = [(number, one) for number, one in enumerate(content["ops"]) if one["outputs"][0] not in copied]
        assert found.numbers == tuple(number for number, _ in left)
        assert [one.inputs for one in found.question.operations] == [
            tuple(dict.fromkeys(copied.get(tensor, tensor) for tensor in one["inputs"])) for _, one in left
        ]
        assert len(found.types) == len(left)
        dropped += len(copied)
    assert dropped > 15


@pytest.mark.parametrize("number, is_read", [(1 << 40, True), ((1 << 40) + 1, False), (-(1 << 40) - 1, False)])
def test_numbers_beyond_those_whose_sums_are_exact_are_refused(number, is_read):
    graph = {"tensors": [number, 4], "ops": [], "inputs": [1], "outputs": [1]}
    for content in (graph, [{"buffers": [[0, 1, 5], [0, abs(number), 8]]}])[: 1 if number < 0 else 2]:
        if is_read:
            assert read(content)
        else:
            with pytest.raises(AidgeError, match="is above 1,099,511,627,776"):
                read(content)


@pytest.mark.requirement("PLAN_FILE")
def test_a_graph_that_names_a_tensor_at_the_wrong_time_is_refused():
    for seed in range(10):
        good = content_of(seed)
        count = len(good["tensors"])
        for index, one in enumerate(good["ops"]):
            later = good["ops"][index]["outputs"][-1]
            for side, tensor, reason in (
                ("inputs", later, "before it is written"),
                ("inputs", count, "which has no size"),
                ("outputs", -1, "which has no size"),
                ("outputs", good["inputs"][0], "exists already"),
            ):
                damaged = json.loads(json.dumps(good))
                damaged["ops"][index][side] = [*one[side], tensor]
                with pytest.raises(AidgeError, match=reason) as refused:
                    read(damaged)
                assert f"op {index}" in str(refused.value) and refused.value.code == "PLAN_FILE"
