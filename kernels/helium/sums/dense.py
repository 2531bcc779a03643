# SPDX-License-Identifier: MIT
"""A fully connected layer for one row of inputs: eight outputs share each load of the input."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy

from aidge_build.contract.kernel_kit.linear import LinearConstants

from ..core.assembly import Assembler, emit_gather, function
from ..core.packed import JOINT, SINGLE, WHOLE, Packing, are_symmetric
from ..core.rounding import Fixed, emit_fixed, emit_levels_of_8, multiplier_words, shift_words, zero_point_word

LANES = 16
OUTPUTS = 8  # at a time
HEAD_BYTES = 16  # of a stream: input zero point, zero point, lowest, highest
ORDER = (0, 4, 2, 6, 1, 5, 3, 7)  # of the sums in the stream: two narrowings then put the outputs in line
MOST_UNROLLED, VECTORS_IN_LOOP = 12, 8
TEXT_BYTES = 120  # of a group beside its products
BESIDE_PRODUCTS, BESIDE_GROUPS = 21, 20  # instructions of a group, and of a call
PARAMETERS = "const int8_t *x, int8_t *y, const int8_t *stream"
LARGEST_PACKED = 2**23  # of sums: products with packed weights then fit 32 bits


def packing_of(bits: int, weights: numpy.ndarray, numbers: LinearConstants) -> Packing | None:
    """How weights [outputs, inputs] of so many bits share bytes; None where they do not."""
    largest = 128 * numpy.abs(weights.astype(numpy.int64)).sum(axis=1) + numpy.abs(numbers.bias)
    vectors = len(weights) * -(-weights.shape[1] // LANES)
    if bits == 8 or vectors * bits < 8 or largest.max() >= LARGEST_PACKED:
        return None
    return Packing(bits, SINGLE if len(weights) * bits < 8 else JOINT if are_symmetric(weights, bits) else WHOLE)


@dataclass(frozen=True)
class Dense:
    """`inputs` to `outputs`; `adds`, `fixed`: levels are rounded as in rounding.py; `offsets`: weights lack some (finer.py);
    `packed`: weights share bytes (packed.py)."""

    inputs: int
    outputs: int
    clamps: bool = False
    adds: bool = False
    bits: int = 0  # by which sums are shifted before the rest of the bias is added: finer.py
    fixed: Fixed | None = None
    offsets: bool = False
    uniform: bool = False  # one float multiplier of all outputs follows the head, and stands in no group
    packed: Packing | None = None

    @property
    def name(self) -> str:
        ways = f"{'_clamped' if self.clamps else ''}{'_adding' if self.adds else ''}{self.fixed.way if self.fixed else ''}"
        ways += (f"_finer_{self.bits}" if self.bits else "") + "_offsets" * self.offsets
        ways += "_uniform" * self.uniform + (self.packed.name if self.packed else "")
        return f"aidge_helium_dense_{self.inputs}_to_{self.outputs}{ways}"

    @property
    def vectors(self) -> int:
        return -(-self.inputs // LANES)

    @property
    def groups(self) -> int:
        return -(-self.outputs // OUTPUTS)

    @property
    def apart(self) -> int:
        """Outputs of the last group where it has a text and a stream of its own, without the outputs that it lacks."""
        left = self.outputs % OUTPUTS
        spared = (OUTPUTS - left) * (LANES * self.vectors + 4)
        turns = self._turns
        printed = self.vectors - max(0, turns - 1) * VECTORS_IN_LOOP
        text = printed * (8 * left + 4) + TEXT_BYTES if self.groups > 1 else 0
        return left if left and spared > text else 0

    @property
    def _turns(self) -> int:
        """The turns of a loop over the vectors of a group; 0 without a loop."""
        return 0 if self.vectors <= MOST_UNROLLED else (self.vectors - bool(self.inputs % LANES)) // VECTORS_IN_LOOP

    @property
    def instructions(self) -> int:
        """The instructions of a call, nearly."""
        whole, rest = self.groups - (self.apart > 0), self.apart
        return BESIDE_GROUPS + whole * self._instructions_of(OUTPUTS) + (self._instructions_of(rest) if rest else 0)

    def _instructions_of(self, outputs: int) -> int:
        """The instructions of a group, nearly."""
        packing, products = self._packing(outputs), self.vectors * outputs
        return BESIDE_PRODUCTS + self.vectors + products + (packing.loads(products) if packing else products)

    def _packing(self, outputs: int) -> Packing | None:
        """How the weights of a group share bytes."""
        is_whole = self.packed is None or outputs % self.packed.together == 0
        return self.packed if is_whole else replace(self.packed, way=SINGLE)

    @property
    def _sums_inputs(self) -> bool:
        """Whether the sum of the inputs is needed."""
        return self.offsets or self.packed == Packing(1, JOINT)

    def stream(self, numbers: LinearConstants, rows: numpy.ndarray, offsets: numpy.ndarray) -> numpy.ndarray:
        """The head; per eight outputs: biases in the order of the accumulators (packed.py: what joint sums begin with), for each
        vector eight times 16 weights, or as many in fewer bytes, then of outputs 0 2 4 6 1 3 5 7 offsets of the weights,
        fractions of the biases with `bits`, multipliers (with `uniform` one behind the head), shifts of fixed-point factors.
        `rows` [outputs, inputs]: the weights that are multiplied with; `offsets` [outputs]: what they lack."""
        weights = numpy.zeros((self.groups * OUTPUTS, self.vectors * LANES), numpy.int8)
        weights[: self.outputs, : self.inputs] = rows
        bias, multipliers, shifts, lacking = (numpy.zeros(self.groups * OUTPUTS, "<i4") for _ in range(4))
        lacking[: self.outputs] = offsets
        bias[: self.outputs], multipliers[: self.outputs] = numbers.bias, multiplier_words(numbers)
        if self.fixed:
            shifts[: self.outputs] = shift_words(numbers)
        parts = [
            numpy.array(
                [numbers.input_zero_point, zero_point_word(numbers, self.bits), numbers.low, numbers.high], "<i4"
            ).tobytes(),
            multipliers[: int(self.uniform)].tobytes(),
        ]
        for first in range(0, self.groups * OUTPUTS, OUTPUTS):
            chosen = [first + output for output in ORDER if not self.apart or first + output < self.outputs]
            packing, begun = self._packing(len(chosen)), (bias >> self.bits)[chosen]
            parts.append((packing.begun(begun) if packing else begun).astype("<i4").tobytes())
            parts.append(self._stored(weights[chosen], packing))
            rest = [*([lacking] if self.offsets else []), *([bias & (1 << self.bits) - 1] if self.bits else [])]
            rest += [*([] if self.uniform else [multipliers]), *([shifts] if self.fixed else [])]
            parts += [part[first + start : first + OUTPUTS : 2].tobytes() for part in rest for start in (0, 1)]
        return numpy.frombuffer(b"".join(parts), numpy.int8)

    def _stored(self, rows: numpy.ndarray, packing: Packing | None) -> bytes:
        """The weights of a group."""
        vectors = rows.reshape(-1, self.vectors, LANES).transpose(1, 0, 2).reshape(-1, LANES)
        return (packing.vectors(vectors) if packing else numpy.ascontiguousarray(vectors)).tobytes()

    def text(self) -> str:
        """The C text."""
        return function(
            self.name,
            f"{self.inputs} inputs to {self.outputs} outputs, eight at a time.",
            PARAMETERS,
            self._lines(),
        )

    def _lines(self):
        emit, left = Assembler(), self.outputs % OUTPUTS
        emit("%enter", "mov %from, %x", "ldr %zero_point, [%stream, #4]")
        emit(*(["ldrd %lowest, %highest, [%stream, #8]"] if self.clamps else []))
        emit(*([f"ldr %multiplier, [%stream, #{HEAD_BYTES}]"] if self.uniform else []))
        emit.add("%weights", "%stream", HEAD_BYTES + 4 * self.uniform)
        if self.inputs % LANES:
            emit(f"movs %tail, #{self.inputs % LANES}", "vctp.8 %tail", why="the bytes after the input must not be read")
        if self._sums_inputs:
            self._sum(emit)
        groups = self.groups - (self.apart > 0)
        if groups:
            self._groups(emit, groups, left > 0 and not self.apart)
        if self.apart:
            self._group(emit, left)
        if left:
            emit(f"movs %left, #{left}", "vctp.16 %left", "vpst", "vstrbt.16 %q.even, [%y]")
        emit("%leave")
        return emit.lines

    def _sum(self, emit: Assembler) -> None:
        """The sum of the row."""
        whole, tail = divmod(self.inputs, LANES)
        emit("movs %sum, #0")
        if whole:
            emit(f"movw %vectors, #{whole}", "dls %vectors, %vectors")
            emit.label("vector")
            emit("vldrb.u8 %q.data, [%from], #16", "vaddva.s8 %sum, %q.data", "le %vectors, %vector")
        if tail:
            emit("begin %q.data", "vpst", "vldrbt.u8 %q.data, [%from], #16", "vaddva.s8 %sum, %q.data")
        emit.add("%from", "%from", -LANES * self.vectors)
        emit("mov %row, %sum", why="even registers are for the sums of the outputs")

    def _groups(self, emit: Assembler, groups: int, ends_early: bool) -> None:
        """So many groups of eight; `ends_early`: the last one has fewer outputs, which are not yet stored."""
        if groups > 1:
            emit(f"movw %groups, #{groups}", why="groups of eight that are left")
            emit.label("group")
        self._group(emit, OUTPUTS)
        if groups > 1:
            emit("subs %groups, %groups, #1", *(["beq %last"] if ends_early else []))
        emit("vstrb.16 %q.even, [%y], #8")
        if groups > 1:
            emit("b %group" if ends_early else "bne %group")
        if ends_early:
            emit.label("last")

    def _group(self, emit: Assembler, outputs: int) -> None:
        """Levels of so many outputs, of eight at most."""
        sums = [f"%sum{output}" for output in ORDER if output < outputs]
        emit(f"ldm %weights!, {{{', '.join(sums)}}}", why="biases")
        self._products(emit, sums)
        packing = self._packing(outputs)
        if packing:
            packing.emit_sums(emit, sums, "%row")
        for place, vector in enumerate(("%q.even", "%q.odd")):
            emit_gather(
                emit, vector, [f"%sum{output}" if output < outputs else "" for output in ORDER[4 * place : 4 * place + 4]]
            )
        if packing and packing.scale:
            emit(*(f"vshr.s32 {vector}, {vector}, #{packing.scale}" for vector in ("%q.even", "%q.odd")))
        self._complete(emit)
        self._round(emit)
        if self.clamps:
            emit("vdup.16 %q.limit, %lowest", "vmax.s16 %q.even, %q.even, %q.limit")
            emit("vdup.16 %q.limit, %highest", "vmin.s16 %q.even, %q.even, %q.limit")
        emit("vqmovnb.s16 %q.even, %q.even")

    def _products(self, emit: Assembler, sums: Sequence[str]) -> None:
        """All inputs times the weights of a group."""
        packing, turns = self._packing(len(sums)), self._turns
        if packing == Packing(1, SINGLE):
            emit("vmov.i8 %q.ones, #1")
        if turns:
            emit(f"movw %turns, #{turns}")
            emit.label(f"turn_of_{len(sums)}")
            for vector in range(VECTORS_IN_LOOP):
                self._vector(emit, sums, vector, False)
            emit("subs %turns, %turns, #1", f"bne %turn_of_{len(sums)}")
        rest = self.vectors - turns * VECTORS_IN_LOOP
        for vector in range(rest):
            self._vector(emit, sums, vector, self.inputs % LANES > 0 and vector == rest - 1)
        emit.add("%from", "%from", -LANES * self.vectors)

    def _vector(self, emit: Assembler, sums: Sequence[str], vector: int, masked: bool) -> None:
        """Products of a vector of inputs; so many vectors precede it in a turn."""
        emit(*(["begin %q.data", "vpst", "vldrbt.u8 %q.data, [%from], #16"] if masked else ["vldrb.u8 %q.data, [%from], #16"]))
        packing = self._packing(len(sums))
        for number, sum_ in enumerate(sums, vector * len(sums)):
            place, weights = number % packing.together if packing else 0, "%q.weights"
            if place == 0:
                emit("vldrw.u32 %q.weights, [%weights], #16")
            if packing:
                weights = packing.emit_weights(emit, place, weights, "%q.unpacked", "%q.ones")
            emit(f"vmladava.s8 {sum_}, %q.data, {weights}")

    @staticmethod
    def _load(emit: Assembler, why: str) -> None:
        """The next number of each output."""
        emit("vldrw.u32 %q.of_even, [%weights], #16", "vldrw.u32 %q.of_odd, [%weights], #16", why=why)

    def _complete(self, emit: Assembler) -> None:
        """Adds to the sums what weights and biases lack."""
        if self.offsets:
            self._load(emit, "what the weights lack")
            emit("vmla.s32 %q.even, %q.of_even, %row", "vmla.s32 %q.odd, %q.of_odd, %row")
        if self.bits:
            self._load(emit, "what biases have beside whole products")
            emit(f"vshl.i32 %q.even, %q.even, #{self.bits}", f"vshl.i32 %q.odd, %q.odd, #{self.bits}")
            emit("vadd.i32 %q.even, %q.even, %q.of_even", "vadd.i32 %q.odd, %q.odd, %q.of_odd")

    def _round(self, emit: Assembler) -> None:
        """Sums become levels of 16 bits."""
        if not self.uniform:
            self._load(emit, "multipliers")
        if self.fixed:
            emit_fixed(emit, self.fixed, ("%q.even", "%q.odd"), ("%q.of_even", "%q.of_odd"), "%q.sign")
            self._load(emit, "shifts")
            emit("vrshl.s32 %q.even, %q.even, %q.of_even", "vrshl.s32 %q.odd, %q.odd, %q.of_odd")
            emit_levels_of_8(emit, self.fixed, "%q.even", "%q.odd", "%q.even", "%zero_point")
            return
        for vector in ("even", "odd"):
            emit(f"vcvt.f32.s32 %q.{vector}, %q.{vector}")
            emit(f"vmul.f32 %q.{vector}, %q.{vector}, {'%multiplier' if self.uniform else f'%q.of_{vector}'}")
            emit(f"vadd.f32 %q.{vector}, %q.{vector}, %zero_point" if self.adds else f"vcvtn.s32.f32 %q.{vector}, %q.{vector}")
        if self.adds:
            emit("vmovnt.i32 %q.even, %q.odd")
        else:
            emit("vqmovnb.s32 %q.even, %q.even", "vqmovnt.s32 %q.even, %q.odd", "vqadd.s16 %q.even, %q.even, %zero_point")
