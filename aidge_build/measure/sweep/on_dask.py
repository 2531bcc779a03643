# SPDX-License-Identifier: MIT
"""Workers of a Dask cluster, for when one machine is not enough. The only importer of the package `distributed`."""

from __future__ import annotations

import contextlib
import logging
import warnings
from collections.abc import Generator, Iterable, Iterator
from itertools import islice
from typing import Any

from aidge_build.base.errors import AidgeError, MissingTool
from aidge_build.measure.sweep.tasks import Answer, Task, killed, performed

_AHEAD = 3  # tasks for each thread of the cluster that the scheduler knows of: none waits, and few are lost with the scheduler
_CONNECT_SECONDS = 10


class OnDask:
    """The workers of the scheduler at `address`, such as tcp://10.0.0.1:8786; they may come and go."""

    def __init__(self, address: str):
        self._address = address

    def answers(self, tasks: Iterable[Task]) -> Generator[Answer, None, None]:
        """The scheduler gives tasks of workers that die to others; one that goes away itself ends the sweep."""
        distributed = _package()
        waiting = iter(tasks)
        with self._connected(distributed) as client:
            first = list(islice(waiting, _window(client)))
            asked = {}
            for task in first:
                asked[_submitted(client, task)] = task
            done = distributed.as_completed(list(asked), loop=client.loop, raise_errors=False)
            for future in done:
                task = asked.pop(future)
                yield self._answer(distributed, future, task)
                future.release()
                for task in islice(waiting, max(1, _window(client) - len(asked))):
                    another = _submitted(client, task)
                    asked[another] = task
                    done.add(another)

    def close(self) -> None:
        """The cluster goes on."""

    @contextlib.contextmanager
    def _connected(self, distributed) -> Iterator[Any]:
        for name in ("distributed", "distributed.client", "distributed.comm"):
            logging.getLogger(name).setLevel(logging.CRITICAL)  # aidge-build prints what the user must know
        warnings.filterwarnings("ignore", module=r"distributed\..*")
        try:
            client = distributed.Client(self._address, timeout=_CONNECT_SECONDS, set_as_default=False)
        except (OSError, ValueError) as error:
            raise self._gone(error) from error
        with client:
            try:
                client.wait_for_workers(1, timeout=_CONNECT_SECONDS)
                yield client
            except (OSError, distributed.CancelledError) as error:
                raise self._gone(error) from error

    def _gone(self, error: BaseException) -> MissingTool:
        first = (str(error) or type(error).__name__).splitlines()[0]
        return MissingTool(
            f"no scheduler with workers answers there, or it went away ({first})",
            where=f"--scheduler {self._address}",
            code="SWEEP",
            hint="dask scheduler, and dask worker with this address, must run; the answers so far are kept: run the sweep again",
        )

    def _answer(self, distributed, future, task: Task) -> Answer:
        error = future.exception() if future.status == "error" else None
        if isinstance(error, distributed.KilledWorker):
            return killed(task)
        if error is not None:
            raise AidgeError(
                f"a worker could not do it: {error}",
                where=task.title,
                code="SWEEP",
                hint="workers need the same version of aidge_build and of Python as this machine",
            )
        if future.status != "finished":
            raise self._gone(RuntimeError(f"the task is {future.status}"))
        return future.result()


def _package():
    try:
        import distributed
    except ImportError:
        raise MissingTool(
            "the package distributed is not installed",
            where="--scheduler",
            code="SWEEP",
            hint="pip install distributed, here and where the workers are; without it --jobs N uses the cores of this machine",
        ) from None
    return distributed


def _submitted(client, task: Task):
    return client.submit(performed, task, key=f"aidge-build-{task.key}", pure=True)


def _window(client) -> int:
    return _AHEAD * max(1, sum(client.nthreads().values()))
