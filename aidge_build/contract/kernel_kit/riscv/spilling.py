# SPDX-License-Identifier: MIT
"""Values in memory where registers do not suffice: each has a word of the frame, is loaded before an instruction reads it, and is
stored after one writes it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet

from aidge_build.contract.kernel_kit.registers.choice import DEEPEST, LOOP_WEIGHT
from aidge_build.contract.kernel_kit.registers.named import ENTERS, FRAME, VALUE, Function, Step
from aidge_build.contract.kernel_kit.registers.texts import Line
from aidge_build.contract.kernel_kit.registers.webs import Webs, webs_of


def with_own_names(lines: Sequence[Line], function: Function) -> list[Line]:
    """Returns the lines of a function with a name of its own for each web, but for the parameters."""
    webs, found = webs_of(function.steps), list(lines)
    entered = {web for number, step in enumerate(function.steps) if step.text in ENTERS for web in webs.written[number].values()}
    for number, step in enumerate(function.steps):
        here = webs.read[number] | webs.written[number]
        names = {value.name: f"%{value.name}_{web}" for value, web in here.items() if web not in entered}
        found[step.place] = f"    {_renamed(step.text, names)}", lines[step.place][1]
    return found


def _renamed(text: str, names: Mapping[str, str]) -> str:
    return VALUE.sub(lambda match: names.get(match[2], match[0]), text)


def with_spills(lines: Sequence[Line], function: Function, names: Collection[str]) -> list[Line]:
    """Returns the lines of a function with loads and stores of the values with these names; the frame has their words last."""
    steps = {step.place: step for step in function.steps}
    found: list[Line] = []
    for place, (line, why) in enumerate(lines):
        said = list(_said(steps[place], names)) if place in steps else [line]
        found += [(each, why if not number else "") for number, each in enumerate(said)]
    return [*found, *((f"    {FRAME}{_word(name)}", "") for name in names)]


def _said(step: Step, names: Collection[str]) -> Iterator[str]:
    """Yields an instruction, or in place of a move the load or the store."""
    reads, writes = ([value.name for value in sorted(values) if value.name in names] for values in (step.reads, step.writes))
    target, source = (value.name for value in step.named) if _is_plain_move(step) else ("", "")
    if source and reads and not writes:
        yield _access("ldr", target, source)
        return
    yield from (_access("ldr", name, name) for name in reads)
    if source and writes:
        yield _access("str", source, target)
        return
    yield f"    {step.text}"
    yield from (_access("str", name, name) for name in writes)


def _is_plain_move(step: Step) -> bool:
    return step.is_move and step.text.startswith("mov ") and len(step.named) == 2


def _access(verb: str, name: str, word: str) -> str:
    return f"    {verb} %{name}, [sp, %frame.{_word(word)}]"


def _word(name: str) -> str:
    return f"spilled_{name}"


def spill_costs(function: Function, webs: Webs, in_memory: Collection[str]) -> dict[int, float]:
    """Returns what it costs to have each web in memory: its uses, more in loops, for each step where a register becomes free;
    infinity if there is no such step, or if it is the register of a load or store of a name that is `in_memory`."""
    uses: Counter[int] = Counter()
    free: Counter[int] = Counter()
    for number, depth in enumerate(_depths([step.following for step in function.steps])):
        here = [*webs.read[number].values(), *webs.written[number].values()]
        for web in here:
            uses[web] += LOOP_WEIGHT ** min(depth, DEEPEST)
        free.update(webs.alive[number].difference(here))
    names = frozenset(in_memory)
    return {
        web: uses[web] / free[web] if free[web] and value.name not in names else math.inf for web, value in enumerate(webs.values)
    }


def _depths(following: Sequence[Sequence[int]]) -> list[int]:
    """Returns for each step how many loops it is in. Each way to the jump back of a loop passes its first step, so that code out
    of the way, which jumps back into the middle, is no loop."""
    before: list[list[int]] = [[] for _ in following]
    for number, others in enumerate(following):
        for other in others:
            before[other].append(number)
    depths = [0] * len(following)
    for first, sources in enumerate(before):
        loop = {first}
        for last in sources:
            if last >= first and last not in _reached({0}, following, without={first}):
                loop |= _reached({last}, before, without={first})
        for number in loop if len(loop) > 1 else ():
            depths[number] += 1
    return depths


def _reached(begin: AbstractSet[int], following: Sequence[Sequence[int]], without: AbstractSet[int]) -> set[int]:
    found, todo = set[int](), list(begin - without)
    while todo:
        number = todo.pop()
        if number not in found:
            found.add(number)
            todo += [other for other in following[number] if other not in without]
    return found
