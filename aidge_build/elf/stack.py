# SPDX-License-Identifier: MIT
"""An upper bound of a program's stack use, from its machine code alone; no number where none can be defended."""

from __future__ import annotations

from dataclasses import dataclass

from aidge_build.elf.activation import Activation, Code, walk
from aidge_build.elf.disassembly import Instruction
from aidge_build.elf.frames import Refusal
from aidge_build.elf.image import Image

# What the core pushes for an interrupt, with up to 4 bytes of alignment: eight words; with the FPU's state 18 more.
_FRAME_BYTES, _VECTOR_FRAME_BYTES = 36, 108
# The first two words of a vector table are the stack pointer and the reset handler.
_HANDLERS_AT = 2
_MOST_NESTED_CALLS = 80  # beyond, Python's own stack would end
_Path = tuple[tuple[str, int], ...]  # functions, and what each holds


@dataclass(frozen=True)
class StackBound:
    """`bytes` is the bound, along the calls of `path`; None with the `reason` why there is none.

    `held_bytes` are what each function of the path holds while the next one runs; they add up to the bound.
    """

    bytes: int | None
    path: tuple[str, ...]
    reason: str = ""
    held_bytes: tuple[int, ...] = ()


@dataclass(frozen=True)
class StackUse:
    """The program from reset, one inference per run function, and what one interrupt adds in the worst case."""

    program: StackBound
    runs: dict[str, StackBound]
    interrupt: StackBound
    reserved_bytes: int | None


def stack_use(image: Image, instructions: dict[int, Instruction], run_symbols: tuple[str, ...]) -> StackUse:
    """Bounds for the ELF's entry and for each of `run_symbols` that is in it."""
    code = Code(image, instructions)
    if not code.starts:
        unknown = StackBound(None, (), "the program has no symbols")
        return StackUse(unknown, {}, unknown, None)
    entries = {name: image.symbol(name) for name in run_symbols}
    runs = {name: _bound(code, symbol.address, False) for name, symbol in entries.items() if symbol}
    limit, top = (image.symbol(name) for name in ("__stack_limit", "__stack_top"))
    reserved = top.address - limit.address if limit and top else None
    return StackUse(_bound(code, image.entry & ~1, True), runs, _interrupt(code), reserved)


def _bound(code: Code, entry: int, is_root: bool) -> StackBound:
    search = _Search(code, entry if is_root else None)
    try:
        total, path = search.bound(entry)
        return StackBound(total, tuple(name for name, _ in path), held_bytes=tuple(held for _, held in path))
    except Refusal as refusal:
        return StackBound(None, tuple(map(code.name, refusal.chain)), str(refusal))


def _interrupt(code: Code) -> StackBound:
    """The deepest handler of the vector table on top of the frame that the core pushes."""
    vectors = next((section for section in code.image.sections if section.name in (".vectors", ".isr_vector")), None)
    if vectors is None:
        return StackBound(None, (), "there is no section .vectors or .isr_vector")
    deepest = StackBound(0, ())
    uses_vectors = any(instruction.mnemonic.startswith("v") for instruction in code.instructions.values())
    words = [code.read(at, 4) for at in range(vectors.address + 4 * _HANDLERS_AT, vectors.end, 4)]
    for handler in sorted({word & ~1 for word in words if word}):
        found = _bound(code, handler, False)
        if found.bytes is None:
            return StackBound(None, found.path, found.reason)
        deepest = max(deepest, found, key=lambda bound: bound.bytes)
    frame = _VECTOR_FRAME_BYTES if uses_vectors else _FRAME_BYTES
    return StackBound(frame + deepest.bytes, deepest.path)


class _Search:
    """The longest way through the calls; each function is walked once. `chain` is the way to where the search is."""

    def __init__(self, code: Code, root: int | None):
        self.code = code
        self.root = root
        self.chain: list[int] = []
        self._done: dict[int, tuple[int, _Path, bool]] = {}
        self._refused: dict[int, Refusal] = {}

    def bound(self, entry: int) -> tuple[int, _Path]:
        """Bytes and path from `entry` on."""
        total, path, _ = self._visit(entry)
        return total, path

    def _visit(self, entry: int) -> tuple[int, _Path, bool]:
        if entry in self._done:
            return self._done[entry]
        if entry in self._refused:
            raise self._refused[entry]
        if entry in self.chain:
            cycle = [*self.chain[self.chain.index(entry) :], entry]
            refusal = Refusal(f"recursion {' > '.join(map(self.code.name, cycle))}")
            refusal.chain = tuple(self.chain)
            raise refusal
        if len(self.chain) >= _MOST_NESTED_CALLS:
            refusal = Refusal(f"more than {_MOST_NESTED_CALLS} calls within each other")
            refusal.chain = tuple(self.chain)
            raise refusal
        self.chain.append(entry)
        try:
            activation = walk(self.code, entry, entry == self.root, lambda call: self._visit(call.target)[2])
        except Refusal as refusal:
            refusal.chain = refusal.chain or tuple(self.chain)
            self._refused[entry] = refusal
            raise
        finally:
            self.chain.pop()
        self._done[entry] = (*self._longest(entry, activation), activation.returns)
        return self._done[entry]

    def _longest(self, entry: int, activation: Activation) -> tuple[int, _Path]:
        best, path = activation.depth_bytes, self._held(entry, activation.deepest, activation.depth_bytes)
        for call in activation.calls:
            below, names, _ = self._done[call.target]
            if call.depth_bytes + below > best:
                best, path = call.depth_bytes + below, (*self._held(entry, call.site, call.depth_bytes), *names)
        return best, path

    def _held(self, entry: int, site: int, held_bytes: int) -> _Path:
        """The function, and the one that it went on in by a tail call, which then holds the bytes of both."""
        name, last = self.code.name(entry), self.code.name(site)
        return ((name, held_bytes),) if name == last else ((name, 0), (last, held_bytes))
