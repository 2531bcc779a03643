# SPDX-License-Identifier: MIT
"""A whole sweep of small models: the same content whoever did the work, in which order, and however often it was interrupted."""

from __future__ import annotations

import importlib.util
import os
from collections import Counter
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy
import pytest

import aidge_build.cli.sweep as verb
from aidge_build.cli.parsing import parse
from aidge_build.measure.fit.evaluate import evaluate, evaluate_together
from aidge_build.measure.sweep import work
from aidge_build.measure.sweep.processes import Processes
from aidge_build.measure.sweep.store import opened
from aidge_build.measure.sweep.tasks import Alone, performed
from tests import sweep_work
from tests.command import Result, aidge_build
from tests.models import model
from tests.small_model import small_model

MATRIX = """
boards = ["stm32f4", "stm32f411"]
[[models]]
file = "plain.onnx"
sets = ["size"]
[[models]]
file = "floats.onnx"
labels = "labels.npz"
samples = "samples.npz"
sets = ["int8", "wide"]
[options.size]
optimize = "size"
[options.int8]
quantize = true
[options.wide]
activations = "symmetric"
"""
# Both boards have the same core; two of the sets quantize, and what they make is judged.
TASKS = {"plain": 1, "quantized": 2, "quantizing": 2, "judging": 2}


@pytest.fixture(scope="module", autouse=True)
def evaluated_once():
    """This process compiles nothing twice; others know nothing of it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(work, "evaluate_together", cache(evaluate_together))
        yield


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    made = tmp_path_factory.mktemp("sweep")
    random = numpy.random.default_rng(0)
    weights, samples = random.normal(size=(3, 8)).astype(numpy.float32), random.normal(size=(60, 1, 8)).astype(numpy.float32)
    text = "y = Gemm<transB = 1>(x, w)"
    (made / "floats.onnx").write_bytes(model(text, inputs="float[1,8] x", outputs="float[1,3] y", constants={"w": weights}))
    (made / "plain.onnx").write_bytes(small_model())
    labels = (samples[:, 0] @ weights.T).argmax(axis=1)
    numpy.savez(made / "samples.npz", x=samples)
    numpy.savez(made / "labels.npz", x=samples, labels=labels)
    (made / "matrix.toml").write_text(MATRIX)
    return made


@pytest.fixture(scope="module")
def whole(folder) -> Result:
    """The sweep by this process alone."""
    return sweep(folder, "whole.sqlite", "--jobs", 1, "--html", folder / "page.html")


def sweep(folder: Path, out: str, *words) -> Result:
    return aidge_build("sweep", folder / "matrix.toml", "--out", folder / out, "--json", *words)


class Killing:
    """Another crew, one worker of which is killed at the third task."""

    def __init__(self, crew, folder: Path):
        self._crew, self._folder = crew, str(folder)

    def answers(self, tasks):
        key = tasks[2].key if len(tasks) > 2 else ""
        yield from self._crew.answers(
            [replace(task, work=sweep_work.killed_at, request=(self._folder, key, task)) for task in tasks]
        )

    def close(self):
        self._crew.close()

    def counts(self) -> Counter:
        """How many tasks were begun how often."""
        return Counter(Counter(path.name.split("-")[0] for path in Path(self._folder).iterdir()).values())


def test_a_sweep_answers_every_point_and_boards_of_a_core_share_a_task(whole):
    assert whole.exit_code == 0 and whole.json["tasks"] == sum(TASKS.values()) and whole.json["failed"] == []
    points = whole.json["points"]
    assert [(one["model"], one["board"], one["options"]) for one in points] == [
        *[("floats", board, options) for board in ("stm32f4", "stm32f411") for options in ("int8", "wide")],
        *[("plain", board, "size") for board in ("stm32f4", "stm32f411")],
    ]
    assert {one["state"] for one in points} == {"fits"} and all(one["ram_bytes"] and one["flash_bytes"] for one in points)
    assert {one["words"] for one in points} == {"--optimize=size", "--quantize", "--quantize --activations=symmetric"}


def test_a_point_is_what_fit_says_of_it(folder, whole):
    words = [str(folder / "plain.onnx"), "--boards", "stm32f411", "--vary", "optimize=size"]
    (variant,) = verb.variants_of(parse("sweep", words))
    found = evaluate(variant.questions[0])
    (point,) = [one for one in whole.json["points"] if (one["model"], one["board"]) == ("plain", "stm32f411")]
    assert (point["ram_bytes"], point["arena_bytes"], point["flash_bytes"]) == (
        found.ram_bytes,
        found.arena_bytes,
        found.image_bytes,
    )


def test_the_accuracy_is_that_of_the_quantized_model(folder, whole):
    words = ("--quantize", folder / "samples.npz", "--activations", "symmetric", "--labels", folder / "labels.npz")
    judged = aidge_build("accuracy", folder / "floats.onnx", *words, "--json").json
    found = {one["options"]: (one["accuracy"], one["measure"]) for one in whole.json["points"]}
    assert found["wide"] == (judged["stages"][-1]["top1"]["share"], "top-1")
    assert found["size"] == (None, None) and 0.8 < found["int8"][0] <= 1


def test_what_is_known_is_not_asked_again_and_one_model_more_costs_its_own_tasks(folder, whole):
    again = sweep(folder, "whole.sqlite")
    assert (again.json["tasks"], again.json["content"]) == (0, whole.json["content"])
    assert again.json["points"] == whole.json["points"]
    (folder / "more.onnx").write_bytes(small_model(1))
    (folder / "more.toml").write_text(f"{MATRIX}\n[[models]]\nfile = 'more.onnx'\nsets = ['size']")
    more = aidge_build("sweep", folder / "more.toml", "--out", folder / "whole.sqlite", "--jobs", 1, "--json")
    assert more.json["tasks"] == 1 and len(more.json["points"]) == len(again.json["points"]) + 2
    last = sweep(folder, "whole.sqlite", "--prune")
    assert (last.json["tasks"], last.json["content"]) == (0, whole.json["content"])


def test_two_processes_and_one_that_is_killed_give_the_same_content(folder, whole, tmp_path, monkeypatch):
    crew = Killing(Processes(2), tmp_path)
    monkeypatch.setattr(verb, "crew_of", lambda arguments: crew)
    found = sweep(folder, "killed.sqlite")
    assert found.exit_code == 0, found  # with the reason
    assert found.json["content"] == whole.json["content"]
    assert crew.counts() == {1: sum(TASKS.values()) - 1, 2: 1}


def test_a_sweep_that_is_interrupted_goes_on_where_it_was(folder, whole, monkeypatch):
    def interrupt():
        raise KeyboardInterrupt

    monkeypatch.setattr(verb, "crew_of", lambda arguments: sweep_work.Stopping(2, interrupt))
    stopped = sweep(folder, "stopped.sqlite")
    assert stopped.exit_code == 130 and "stopped.sqlite keeps all answers that came" in stopped.stderr
    child = os.fork()
    if child == 0:  # as kill -9 does it
        monkeypatch.setattr(verb, "crew_of", lambda arguments: sweep_work.Stopping(1, lambda: os._exit(9)))
        sweep(folder, "stopped.sqlite")
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
    monkeypatch.undo()
    found = sweep(folder, "stopped.sqlite", "--jobs", 1)
    assert found.json["tasks"] == sum(TASKS.values()) - TASKS["quantizing"] - 2 - 1
    assert found.json["content"] == whole.json["content"]


def test_shares_of_several_machines_are_the_whole_when_they_come_together(folder, whole):
    shares = [sweep(folder, f"share{number}.sqlite", "--part", f"{number}/2", "--jobs", 1) for number in (1, 2)]
    assert sum(one.json["tasks"] for one in shares) == sum(TASKS.values()) + TASKS["quantizing"]
    states = Counter(point["state"] for one in shares for point in one.json["points"])
    assert states == {"fits": 6, "waiting": 6}
    assert sweep(folder, "share1.sqlite", "--part", "1/2", "--jobs", 1).json["tasks"] == 0
    words = [word for number in (1, 2) for word in ("--answers", folder / f"share{number}.sqlite")]
    found = sweep(folder, "all.sqlite", *words)
    assert (found.json["tasks"], found.json["content"]) == (0, whole.json["content"])


def test_labels_that_do_not_fit_are_said_and_the_rest_is_answered(folder, tmp_path):
    numpy.savez(tmp_path / "labels.npz", x=numpy.zeros((2, 1, 8), numpy.float32))
    text = f"models = [{{ file = '{folder / 'floats.onnx'}', labels = 'labels.npz' }}]\nboards = ['stm32f4']"
    (tmp_path / "matrix.toml").write_text(text)
    found = aidge_build("sweep", tmp_path / "matrix.toml", "--out", tmp_path / "a.sqlite", "--jobs", 1)
    assert found.exit_code == 2 and "FAILED: accuracy of floats, default: there is no array 'labels'" in found.stdout
    assert "1 points: 1 fit" in found.stdout


@pytest.mark.parametrize("value", [b"{}", b"no JSON", b"[" * 100_000, b'{"model": 3}'])
def test_a_file_with_answers_that_are_none_is_refused(folder, tmp_path, value):
    words = (folder / "plain.onnx", "--boards", "stm32f4", "--out", tmp_path / "a.sqlite", "--jobs", 1)
    key = aidge_build("sweep", *words, "--json").json["points"][0]["evaluation"]
    with opened(tmp_path / "b.sqlite") as store:
        store.add({key: value})
    (tmp_path / "a.sqlite").unlink()
    found = aidge_build("sweep", *words, "--answers", tmp_path / "b.sqlite")
    assert found.exit_code == 2 and "an answer in the file is damaged" in found.stderr


def test_a_compiler_of_which_nobody_knows_the_version_is_refused(folder, monkeypatch):
    monkeypatch.setenv("AIDGE_CC", "clang")
    assert "AIDGE_CC: a sweep keeps its answers, and cannot tell when" in sweep(folder, "whole.sqlite").stderr


def test_a_worker_of_another_version_is_refused_and_what_came_before_it_is_kept(folder, whole, monkeypatch):
    class Old(Alone):
        def answers(self, tasks):
            for number, task in enumerate(tasks):
                if isinstance(task.request, work.Fitting) and number > 2:
                    task = replace(task, request=replace(task.request, keys=("0" * 64,)))
                yield performed(task)

    monkeypatch.setattr(verb, "crew_of", lambda arguments: Old())
    refused = sweep(folder, "old.sqlite")
    assert refused.exit_code == 3 and "a worker has another version of aidge_build" in refused.stderr
    monkeypatch.undo()
    found = sweep(folder, "old.sqlite", "--jobs", 1)
    assert 0 < found.json["tasks"] < TASKS["plain"] + TASKS["quantized"]
    assert found.json["content"] == whole.json["content"]


def test_a_dask_cluster_gives_the_same_content_though_a_worker_is_killed(folder, whole, tmp_path, monkeypatch):
    if "AIDGE_STRESS" not in os.environ or importlib.util.find_spec("distributed") is None:
        pytest.skip("in stress, where the package distributed is installed")
    import distributed

    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster:
        crew = Killing(verb.OnDask(cluster.scheduler_address), tmp_path)
        monkeypatch.setattr(verb, "crew_of", lambda arguments: crew)
        found = sweep(folder, "dask.sqlite")
        assert (found.exit_code, found.json["content"]) == (0, whole.json["content"])
        assert max(crew.counts()) == 2  # tasks in flight, and answers that the worker had not handed over
        monkeypatch.undo()
        words = ("--scheduler", cluster.scheduler_address)
        assert sweep(folder, "dask2.sqlite", *words).json["content"] == whole.json["content"]
