# SPDX-License-Identifier: MIT
"""A fully connected layer for one row of bytes with float32 results (floats.py): eight outputs share each load of the input."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy

from ..core.assembly import Assembler, c_function, emit_gather, function
from ..core.floats import BEGIN, PARAMETERS, FloatNumbers, Floats
from .dense import LANES, MOST_UNROLLED, OUTPUTS, VECTORS_IN_LOOP

HALVES = ("%q.first", "%q.second")  # four outputs each
IN_LANES = (0, 2, 1, 3)  # the outputs of a half in the order in which `emit_gather` takes them
TEXT_BYTES = 160  # of a group beside its products
NUMBERS = 4  # words of an output beside its weights


@dataclass(frozen=True)
class DenseFloat:
    """`inputs` to `outputs`. The stream holds for each group of eight outputs: per vector 16 weights of each output, then of all
    outputs int32 offsets, int32 sums of the weights, float factors, float biases. The last group may have fewer weights."""

    inputs: int
    outputs: int
    floats: Floats

    @property
    def name(self) -> str:
        return f"aidge_helium_dynamic_row_{self.inputs}_to_{self.outputs}{self.floats.name}"

    @property
    def vectors(self) -> int:
        return -(-self.inputs // LANES)

    @property
    def whole_groups(self) -> int:
        return self.outputs // OUTPUTS + (self.outputs % OUTPUTS > self.apart)

    @property
    def apart(self) -> int:
        """Outputs of the last group if it has a text and a stream of its own, without the weights of missing outputs."""
        left = self.outputs % OUTPUTS
        printed = min(self.vectors, VECTORS_IN_LOOP + MOST_UNROLLED)
        text = printed * (8 * left + 4) + TEXT_BYTES if self.outputs > OUTPUTS else 0
        return left if (OUTPUTS - left) * LANES * self.vectors > text else 0

    def stream(self, weights: numpy.ndarray, numbers: FloatNumbers) -> numpy.ndarray:
        """`weights` [outputs, inputs], as they are stored."""
        groups = -(-self.outputs // OUTPUTS)
        rows = numpy.zeros((groups * OUTPUTS, self.vectors * LANES), weights.dtype)
        rows[: self.outputs, : self.inputs] = weights
        words = numpy.zeros((NUMBERS, groups * OUTPUTS), "<i4")
        words[:2, : self.outputs] = numbers.offsets, numbers.sums
        words[2, : self.outputs], words[3, : self.outputs] = (
            found.astype("<f4").view("<i4") for found in (numbers.factors, numbers.bias)
        )
        parts = []
        for first in range(0, self.outputs, OUTPUTS):
            end = min(first + OUTPUTS, self.outputs if self.apart else len(rows))
            vectors = rows[first:end].reshape(-1, self.vectors, LANES).transpose(1, 0, 2)
            parts += [numpy.ascontiguousarray(vectors).tobytes(), words[:, first : first + OUTPUTS].tobytes()]
        return numpy.frombuffer(b"".join(parts), numpy.int8)

    def texts(self) -> tuple[str, tuple[str, ...]]:
        """The name of the function that computes the layer, and the C texts."""
        purpose = f"{self.inputs} inputs to {self.outputs} outputs, eight at a time."
        parameters = "const int8_t *x, float *y, const int8_t *stream" + PARAMETERS
        driver = f"{self.name}_scaled"
        body = c_function(driver, self.floats.of_driver, [*BEGIN, f"{self.name}(x, y, stream, data);"])
        return driver, (function(self.name, purpose, parameters, self._lines()), body)

    def _lines(self):
        emit, left = Assembler(), self.outputs % OUTPUTS
        emit("%enter", "%frame measured.2, row")
        emit("mov %from, %x", "mov %weights, %stream", why="even registers are for the sums")
        emit("ldrd %zero_point, %scale, [%data]", "strd %zero_point, %scale, [sp, %frame.measured]")
        if self.inputs % LANES:
            emit(f"movs %tail, #{self.inputs % LANES}", "vctp.8 %tail", why="the bytes after the input must not be read")
        self._sum(emit)
        if self.whole_groups:
            self._groups(emit, left > 0 and not self.apart)
        if self.apart:
            self._group(emit, left)
        self._store(emit, left)
        emit("%leave")
        return emit.lines

    def _groups(self, emit: Assembler, ends_early: bool) -> None:
        """The groups of eight; `ends_early`: the last one has fewer outputs, which are not yet stored."""
        groups = self.whole_groups
        if groups > 1:
            emit(f"movw %groups, #{groups}", why="groups of eight that are left")
            emit.label("group")
        self._group(emit, OUTPUTS)
        if groups > 1:
            emit("subs %groups, %groups, #1", *(["beq %last"] if ends_early else []))
        if groups > 1 or not ends_early:
            emit(f"vstrw.32 {HALVES[1]}, [%y, #16]", f"vstrw.32 {HALVES[0]}, [%y], #32")
        if groups > 1:
            emit("b %group" if ends_early else "bne %group")
        if ends_early and groups > 1:
            emit.label("last")

    def _sum(self, emit: Assembler) -> None:
        """The sum of the row."""
        whole, tail = divmod(self.inputs, LANES)
        emit("movs %sum, #0")
        if whole:
            emit(f"movw %vectors, #{whole}", "dls %vectors, %vectors")
            emit.label("vector")
            emit("vldrb.u8 %q.data, [%from], #16", f"vaddva.{self.floats.letter}8 %sum, %q.data", "le %vectors, %vector")
        if tail:
            emit("begin %q.data", "vpst", "vldrbt.u8 %q.data, [%from], #16", f"vaddva.{self.floats.letter}8 %sum, %q.data")
        emit.add("%from", "%from", -LANES * self.vectors)
        emit("str %sum, [sp, %frame.row]")

    def _group(self, emit: Assembler, outputs: int) -> None:
        """Results of so many outputs, of eight at most."""
        sums = [f"%sum{output}" for output in range(outputs)]
        turns = 0 if self.vectors <= MOST_UNROLLED else (self.vectors - bool(self.inputs % LANES)) // VECTORS_IN_LOOP
        rest = self.vectors - turns * VECTORS_IN_LOOP
        if turns:
            emit(*(f"movs {sum_}, #0" for sum_ in sums), f"movw %turns, #{turns}")
            emit.label(f"turn_of_{outputs}")
            for _ in range(VECTORS_IN_LOOP):
                self._vector(emit, sums, False, "a")
            emit("subs %turns, %turns, #1", f"bne %turn_of_{outputs}")
        for vector in range(rest):
            is_masked = self.inputs % LANES > 0 and vector == rest - 1
            self._vector(emit, sums, is_masked, "a" if turns or vector else "")
        emit.add("%from", "%from", -LANES * self.vectors)
        halves = HALVES[: -(-outputs // 4)]
        for number, half in enumerate(halves):
            emit_gather(emit, half, [f"%sum{4 * number + lane}" if 4 * number + lane < outputs else "" for lane in IN_LANES])
        self._scale(emit, halves)

    def _vector(self, emit: Assembler, sums: Sequence[str], is_masked: bool, adds: str) -> None:
        emit(*(["begin %q.data", "vpst", "vldrbt.u8 %q.data, [%from], #16"] if is_masked else ["vldrb.u8 %q.data, [%from], #16"]))
        for sum_ in sums:
            emit("vldrw.u32 %q.taps, [%weights], #16", f"vmladav{adds}.{self.floats.letter}8 {sum_}, %q.data, %q.taps")

    def _scale(self, emit: Assembler, halves: Sequence[str]) -> None:
        """The sums become float32."""

        def each(*texts: str, why: str = "") -> None:
            """Loads the next number of each output, then these instructions."""
            for place, half in enumerate(halves):
                step = 16 if len(halves) == len(HALVES) else 32
                load = f"vldrw.u32 %q.number, [%weights], #{step}"
                emit(load, *(text.replace("half", half) for text in texts), why=why if place == 0 else "")

        emit("ldr %row, [sp, %frame.row]", "ldrd %zero_point, %scale, [sp, %frame.measured]", why="- zero point, scale")
        each("vmla.s32 half, %q.number, %row", why="offsets")
        each("vmla.s32 half, %q.number, %zero_point", "vcvt.f32.s32 half, half", why="sums of the weights")
        each("vmul.f32 %q.number, %q.number, %scale", "vmul.f32 half, half, %q.number", why="factors")
        each("vadd.f32 half, half, %q.number", why="biases")
        self.floats.highest(emit, "%q.highest", "%bits")
        self.floats.clamp(emit, halves, "%q.highest")

    def _store(self, emit: Assembler, left: int) -> None:
        """The outputs of the last group if it has fewer than eight."""
        for place, half in enumerate(HALVES):
            lanes = min(4, left - 4 * place)
            if lanes == 4:
                emit(f"vstrw.32 {half}, [%y, #{16 * place}]")
            elif lanes > 0:
                emit(f"movs %left, #{lanes}", "vctp.32 %left", "vpst", f"vstrwt.32 {half}, [%y, #{16 * place}]")
