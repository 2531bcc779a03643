# SPDX-License-Identifier: MIT
"""Who does the work of a sweep: this process, others, or a Dask cluster; what dies, and what is refused."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from contextlib import closing
from types import SimpleNamespace

import pytest

from aidge_build.base.errors import AidgeError, MissingTool
from aidge_build.measure.sweep.on_dask import OnDask
from aidge_build.measure.sweep.processes import Processes
from aidge_build.measure.sweep.tasks import Alone, Task, WorkerDied, canonical, key_of
from aidge_build.measure.sweep.work import _measure_of
from tests import sweep_work
from tests.build.checkout import ROOT

needs_dask = pytest.mark.skipif(
    importlib.util.find_spec("distributed") is None, reason="the package distributed is not installed"
)


def tasks(work, requests) -> list[Task]:
    return [Task(f"key{number}", f"task {number}", work, request) for number, request in enumerate(requests)]


def values(crew, work, requests) -> dict[str, bytes | None]:
    with closing(crew):
        found = [(answer.key, answer.value) for answer in crew.answers(tasks(work, requests))]
    assert len(dict(found)) == len(found)
    return dict(found)


WANTED = {f"key{number}": b"%d" % (2 * number) for number in range(6)}


@pytest.mark.parametrize("crew", [Alone(), Processes(1), Processes(2), Processes(9)], ids=["alone", "1", "2", "9"])
def test_each_crew_gives_the_same_answers(crew):
    assert values(crew, sweep_work.doubled, range(6)) == WANTED
    assert values(crew, sweep_work.doubled, []) == {}


def test_processes_are_others_and_no_more_than_were_asked_for():
    found = set(values(Processes(2), sweep_work.process, range(8)).values())
    assert 1 <= len(found) <= 2 and b"%d" % os.getpid() not in found


ALONE = """
import sys, threading, zipapp  # zipapp: what no worker needs
from tests.unit.test_sweep_workers import Processes, sweep_work, values
crew = Processes(2)
if sys.argv[1:]:
    threading.Thread(target=threading.Event().wait, daemon=True).start()
print(sorted(values(crew, sweep_work.loaded, ["zipapp", "zipapp"]).values()))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="copies of a process are made on Linux")
@pytest.mark.parametrize("words, has_module", [([], b"1"), (["beside a thread"], b"0")])
def test_a_process_loads_no_module_again_where_it_can_be_a_copy_of_the_first_one(words, has_module):
    command = [sys.executable, "-c", ALONE, *words]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=60)
    assert done.stdout == f"{[has_module] * 2}\n", done.stderr


def test_a_task_whose_worker_is_killed_is_given_to_another_and_no_other_task_is_repeated(tmp_path):
    requests = [(str(tmp_path), number) for number in range(6)]
    assert values(Processes(2), sweep_work.dying_once, requests) == WANTED
    assert [sweep_work.marks(tmp_path, number) for number in range(6)] == [1, 1, 1, 2, 1, 1]


def test_a_task_that_kills_every_worker_is_given_up_and_the_others_are_answered():
    with closing(Processes(1)) as crew:
        found = {answer.key: answer for answer in crew.answers(tasks(sweep_work.dying_always, range(6)))}
    assert {key: answer.value for key, answer in found.items()} == {**WANTED, "key3": None}
    assert isinstance(found["key3"].error, MissingTool)
    assert "task 3: every worker that tried it died" in str(found["key3"].error)


@pytest.mark.parametrize("crew", [Alone(), Processes(1)], ids=["alone", "process"])
def test_what_is_refused_or_fails_is_said_as_it_would_be_here_and_costs_one_answer(crew):
    with closing(crew):
        found = {answer.key: answer for answer in crew.answers(tasks(sweep_work.refusing, range(6)))}
    assert str(found["key3"].error) == "three: no. Hint: take four" and found["key3"].error.exit_code == 2
    assert "raised ZeroDivisionError: nobody foresaw this" in str(found["key4"].error) and found["key4"].error.exit_code == 70
    assert {key for key, answer in found.items() if answer.error is None} == {"key0", "key1", "key2", "key5"}


def test_processes_live_from_one_question_to_the_next_and_end_with_the_crew():
    with closing(Processes(1)) as crew:
        first, second = ([answer.value for answer in crew.answers(tasks(sweep_work.process, range(2)))] for _ in range(2))
        assert len({*first, *second}) == 1
    assert not is_alive(int(first[0]))


def test_who_stops_asking_ends_the_work_and_with_the_crew_all_processes(tmp_path):
    requests = [(str(tmp_path), number) for number in range(50)]
    with closing(Processes(2)) as crew:
        answers = crew.answers(tasks(sweep_work.marked, requests))
        next(answers)
        answers.close()
    done = [path.name for path in tmp_path.iterdir()]
    assert 1 <= len(done) < 50 and not any(is_alive(int(name.split("-")[-1])) for name in done)


def is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


def test_equal_content_has_equal_keys_and_other_content_others():
    parts = [(b"a", "b"), (b"ab",), ("a", "b"), ("ab",), (1, 2), (12,), (["a"], "b"), (None,), ("null",), (b"null",), ()]
    assert len({key_of(*part) for part in parts}) == len(parts)
    assert key_of({"b": 1, "a": 2}) == key_of({"a": 2, "b": 1})
    assert canonical({"b": 1, "a": [1.5, None]}) == b'{"a":[1.5,null],"b":1}'


def test_without_the_package_a_scheduler_is_refused_with_its_name(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(MissingTool, match="the package distributed is not installed. Hint: pip install distributed"):
        list(OnDask("tcp://127.0.0.1:1").answers(tasks(sweep_work.doubled, [1])))


def test_a_dask_worker_that_cannot_do_a_task_is_quoted_and_one_that_died_costs_one_answer():
    class Died(Exception):
        pass

    def answer(error: Exception):
        future = SimpleNamespace(status="error", exception=lambda: error)
        return OnDask("tcp://127.0.0.1:1")._answer(SimpleNamespace(KilledWorker=Died), future, task)

    (task,) = tasks(sweep_work.doubled, [1])
    assert isinstance(answer(Died()).error, WorkerDied)
    with pytest.raises(AidgeError, match="task 0: a worker could not do it: no such module"):
        answer(ImportError("no such module"))


def test_the_measure_of_a_model_is_what_its_labels_allow():
    for top1, auc, measure in ((0.5, None, "top-1"), (None, 0.5, "AUC"), (None, None, "R2")):
        assert _measure_of(SimpleNamespace(top1=top1, auc=auc)) == measure
