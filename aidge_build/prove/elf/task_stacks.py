# SPDX-License-Identifier: MIT
"""Compares the tasks of an operating system for Cortex-M with their stacks: each task has an array of its own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from aidge_build.base.errors import AidgeError
from aidge_build.prove.elf.call_walk import walk
from aidge_build.prove.elf.deepest import StackBound, bound_of
from aidge_build.prove.elf.findings import ERROR, Finding
from aidge_build.prove.elf.image import Image, Symbol
from aidge_build.prove.elf.program_code import Code
from aidge_build.prove.elf.stack import frame_bytes, uses_vectors
from aidge_build.prove.elf.stack_proof import explain, way

# A switch of tasks leaves on the stack what the core pushes, and what the operating system saves: r4 to r11, lr, on Armv8-M up to
# three registers more, and s16 to s31.
_SAVED_BYTES, _SAVED_VECTORS_BYTES = 48, 64


@dataclass(frozen=True)
class TaskStack:
    """The bound of the function of a task, the bytes of a switch on top, and the array that holds both."""

    task: str
    bound: StackBound
    switch_bytes: int
    stack: Symbol

    @property
    def line(self) -> str:
        """Returns `stack of task listen <= 416 B + 220 B for a switch, of 1,024 B (listen_stack)   listen 64 > ...`."""
        most = f"{self.bound.bytes:,} B + {self.switch_bytes:,} B for a switch"
        return f"stack of task {self.task} <= {most}, of {self.stack.size_bytes:,} B ({self.stack.name})   {way(self.bound)}"


def task_stacks(image: Image, code: Code | None, named: Sequence[str]) -> tuple[TaskStack, ...]:
    """Returns the tasks that the user names as FUNCTION=ARRAY. AidgeError (USAGE) for a name that the program does not have, or
    for another machine."""
    if not named:
        return ()
    if code is None:
        raise _refused("stacks of tasks are compared for Cortex-M, by its disassembler", "leave the option out for other cores")
    switch = frame_bytes(code) + _SAVED_BYTES + (_SAVED_VECTORS_BYTES if uses_vectors(code) else 0)
    found = []
    for words in named:
        task, _, array = words.partition("=")
        function, stack = image.symbol(task), image.symbol(array)
        if function is None or function.kind != "function":
            raise _refused(f"the program has no function '{task}'", "name FUNCTION=ARRAY by their symbols, as nm prints them")
        if stack is None or not stack.size_bytes:
            raise _refused(f"the program has no array '{array}'", "name FUNCTION=ARRAY by their symbols, as nm prints them")
        found.append(TaskStack(task, bound_of(walk, code, function.address & ~1), switch, stack))
    return tuple(found)


def check_tasks(tasks: Sequence[TaskStack]) -> Iterator[Finding]:
    """Yields STK01 for a task with too small a stack, and STK02 for a task without a bound: errors, because the user named it."""
    for one in tasks:
        if one.bound.bytes is None:
            yield Finding("STK02", ERROR, f"no stack bound of task {one.task}: {explain(one.bound)}")
            continue
        excess = one.bound.bytes + one.switch_bytes - one.stack.size_bytes
        if excess > 0:
            yield Finding(
                "STK01",
                ERROR,
                f"task {one.task} may use {one.bound.bytes:,} B + {one.switch_bytes:,} B for a switch, its stack "
                f"{one.stack.name} has {one.stack.size_bytes:,} B (+{excess:,} B). Path: {way(one.bound)}",
                f"{one.stack.size_bytes + excess:,} B for {one.stack.name}, or less on the path that is named",
            )


def _refused(what: str, hint: str) -> AidgeError:
    return AidgeError(what, where="--task-stacks", hint=hint, code="USAGE")
