# SPDX-License-Identifier: MIT
"""float32 products with packed weights of 2 and 4 bits on cores without an FPU, for data that become int8 levels.

A halfword of a word of weights has fields of one column, one for each tap, the first one in the lowest bits; a word is two
columns. Shifted and masked it is two weights, which one product multiplies with a level: the sums of two columns share a word.

The scale of a block of a row is an integer of 16 bits and a power of two; the scales of all columns for a block are integers of
16 bits with a common exponent. Their product keeps as many bits as leave 31 for its products with sums of the block: 16 or more,
or two parts. So the results of a block are within 6e-5 of its largest one. They are shifted to the exponent of the largest block
before they are added up.

The stream has for each block and group of 4 columns the words of all taps, the zero points as halfwords if there are any, and 4
scales as halfwords.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy

from aidge_build.contract.call import Argument, Call, Constant, Input, Output, Scratch, computed
from aidge_build.contract.kernel_kit.narrow.core import Core
from aidge_build.contract.kernel_kit.narrow.packed_steps import LevelProducts
from aidge_build.contract.kernel_kit.packed_product import PackedProduct, packed_spec
from aidge_build.contract.kernel_kit.routine import Routine
from aidge_build.contract.node import KernelNode
from aidge_build.contract.spec import Demands, ImplSpec, NodeView, Predicate

GROUP, HALF_BITS = 4, 16
LARGEST = 127  # level
SCALE_BITS, SUM_BITS = 16, 31
PARAMETERS = "const int32_t *stream, const int32_t *x, int32_t *sums, const aidge_kit_narrow_block *block"
MOST_TAPS = {2: 128, 4: 32}  # for each width of weights: 16 bits hold their sums with levels
LONGEST_BLOCK, MOST_PARTS = 128, 4
SUMS, TOTALS = ("first", "second"), ("total0", "total1", "total2", "total3")
_EXPONENT = 16  # 127 + 31 of a sum with its highest bit, less 142: the scale of a block is an integer times 2^(exponent - 142)


def _unfit(core: Core, view: NodeView) -> str:
    operator = view.operator
    if not operator.multiplies_int8:
        return "the data stay floats"
    if "fpu" in view.features:
        return "the core has an FPU"
    part = math.gcd(operator.block, MOST_TAPS.get(operator.bits, 1))
    if part % 16 or operator.block > min(LONGEST_BLOCK, MOST_PARTS * part):
        return f"blocks of {operator.block} weights of {operator.bits} bits"
    scales = view.inputs[2].data
    return "" if numpy.isfinite(scales).all() and (scales >= 0).all() else "scales below 0"


def spec(core: Core) -> ImplSpec:
    """Returns the spec of packed products on the cores of a library."""
    return packed_spec(core.features, Predicate("levels, blocks of few parts, no FPU", partial(_unfit, core)))


@dataclass(frozen=True)
class Sums:
    """A function for a block of so many taps. The product of two scales is divided by 2^`shift`."""

    block: int
    bits: int
    has_zero_points: bool
    shift: int

    @classmethod
    def of(cls, product: PackedProduct) -> Sums:
        """The function for a layer."""
        largest = LARGEST * product.block << product.bits - (not product.has_zero_points)
        if not product.has_any_weights:
            largest = int(_largest(product).max(initial=1))
        shift = 2 * SCALE_BITS - SUM_BITS + largest.bit_length()
        return cls(product.block, product.bits, product.has_zero_points, shift)

    def name(self, core: Core) -> str:
        """Returns the name of the C function."""
        zeros = "_zeros" * self.has_zero_points
        return f"{core.prefix}_block_levels_{self.block}x{self.bits}{zeros}_{self.shift}"

    @property
    def part(self) -> int:
        """The taps for which two sums share a word."""
        return math.gcd(self.block, MOST_TAPS[self.bits])

    @property
    def is_long(self) -> bool:
        """Whether sums are added up over several parts."""
        return self.part < self.block

    @property
    def low_bits(self) -> int:
        """The bits of the second part of a product of scales; 0: it has one part, of 16 bits or more."""
        return 32 - self.shift if self.shift > SCALE_BITS else 0

    @property
    def taps(self) -> int:
        """The taps of a word."""
        return HALF_BITS // self.bits

    def stream(self, product: PackedProduct) -> numpy.ndarray:
        """The constants of a layer."""
        centre, padding = 1 << self.bits - 1, (0, -product.columns % GROUP)
        weights = numpy.pad(product.weights, ((0, 0), padding, (0, 0)))
        zero_points = numpy.pad(product.zero_points - centre, ((0, 0), padding)).astype("<i2")
        scales = numpy.pad(integer_scales(product)[0], ((0, 0), padding)).astype("<u2")
        found: list[numpy.ndarray] = []
        for block in range(len(weights)):
            for first in range(0, weights.shape[1], GROUP):
                group = slice(first, first + GROUP)
                found.append(self._words(weights[block, group]))
                found += [numpy.ascontiguousarray(zero_points[block, group]).view("<i4")] if self.has_zero_points else []
                found.append(numpy.ascontiguousarray(scales[block, group]).view("<i4"))
        return numpy.concatenate(found)

    def _words(self, weights: numpy.ndarray) -> numpy.ndarray:
        """Two words, of two columns each, for some taps after the other."""
        fields = weights.reshape(GROUP // 2, 2, -1, self.taps)
        halves = (fields << self.bits * numpy.arange(self.taps)).sum(axis=3)
        return (halves[:, 0] | halves[:, 1] << HALF_BITS).T.astype(numpy.uint32).reshape(-1).view(numpy.int32)

    def text(self, core: Core) -> str:
        """The C text."""
        code = core.emitter()
        code("%enter" if code.adds_products else "%enter.low")
        self._load(code)
        code.label("group", f"{GROUP} columns")
        code("mov %x, %taps")
        if self.is_long:
            code("mov %begins, %block")
            code("movs %number, #0")
            for total in TOTALS:
                code(f"mov %{total}, %number")
        code.label("part")
        self._part(code)
        if self.is_long:
            for pair, sums in enumerate(SUMS):
                _separate(code, sums)
                code(f"add %{TOTALS[2 * pair]}, %low")
                code(f"add %{TOTALS[2 * pair + 1]}, %high")
            code("cmp %x, %end")
            code("beq %summed")
            code("b %part", "farther than a condition reaches")
            code.label("summed")
        if self.has_zero_points:
            code("ldm %stream!, {%zeros0, %zeros1}")
        for pair in range(len(SUMS)):
            self._pair(code, pair)
        code(f"adds %stream, #{2 * GROUP}")
        code(f"adds %sums, #{4 * GROUP}")
        code("mov %number, %groups")
        code("subs %number, #1")
        code("mov %groups, %number")
        code("beq %done")
        code("b %group")
        code.label("done")
        code("%leave %stream")
        comment = f"A block of {self.block} taps times all columns; returns the next block of the stream."
        return code.function(self.name(core), PARAMETERS, comment, result="const int32_t *")

    def _load(self, code: Routine) -> None:
        """Loads the values that stay for all columns."""
        for first, second in (("scale", "minus"), ("bits", "groups")):
            code("ldm %block!, {%number, %x0}")
            code(f"mov %{first}, %number")
            code(f"mov %{second}, %x0")
        if not self.is_long:
            code("ldr %number, [%block]")
            code("mov %begin, %number")
        if not self.low_bits:
            code("movs %number, #1")
            code(f"lsls %number, %number, #{self.shift - 1}")
            code("mov %half, %number")
        code(f"movs %mask, #{(1 << self.bits) - 1}")
        code(f"lsls %number, %mask, #{HALF_BITS}")
        code("orrs %mask, %number")
        code("mov %taps, %x")
        if self.is_long:
            code(f"movs %number, #{self.block}")
            code("lsls %number, %number, #2")
            code("adds %number, %number, %x")
            code("mov %end, %number")

    def _part(self, code: Routine) -> None:
        """The sums of a part of the taps."""
        if self.is_long:
            code("mov %number, %begins")
            code("ldr %x0, [%number]")
            code("adds %number, #4")
            code("mov %begins, %number")
        for sums in SUMS:
            code(f"mov %{sums}, {'%x0' if self.is_long else '%begin'}")
        for _ in range(self.part // self.taps):
            self._products(code)

    def _products(self, code: Routine) -> None:
        """Two words of weights."""
        code("ldm %stream!, {%word0, %word1}", "weights")
        for tap in range(self.taps):
            if tap % 2 == 0:
                code("ldm %x!, {%x0, %x1}", "levels")
            for word, sums in enumerate(SUMS):
                level, shift = f"%x{tap % 2}", self.bits * tap
                if code.adds_products:
                    code(f"and %number, %mask, %word{word}{f', lsr #{shift}' * (shift > 0)}")
                    code(f"mla %{sums}, %number, {level}, %{sums}")
                    continue
                code(f"lsrs %number, %word{word}, #{shift}" if shift else f"mov %number, %word{word}")
                code("ands %number, %mask")
                code(f"muls %number, {level}")
                code(f"add %{sums}, %number")

    def _pair(self, code: Routine, pair: int) -> None:
        """The sums of two columns, times their scales, are added."""
        if self.is_long:
            code(f"mov %low, %{TOTALS[2 * pair]}")
            code(f"mov %high, %{TOTALS[2 * pair + 1]}")
        else:
            _separate(code, SUMS[pair])
        for half, name in enumerate(("low", "high")):
            if self.has_zero_points:
                code(f"sxth %zero, %zeros{pair}" if half == 0 else f"asrs %zero, %zeros{pair}, #{HALF_BITS}")
                code("mov %number, %minus")
                _multiply(code, "%zero", "%number")
                code(f"adds %{name}, %{name}, %zero")
            code(f"ldrh %factor, [%stream, #{2 * (2 * pair + half)}]")
            code("mov %number, %scale")
            _multiply(code, "%factor", "%number")
            self._scale(code, f"%{name}")
            code("mov %number, %bits")
            code(f"asrs %{name}, %number")
            code(f"ldr %number, [%sums, #{4 * (2 * pair + half)}]")
            code(f"adds %{name}, %{name}, %number")
            code(f"str %{name}, [%sums, #{4 * (2 * pair + half)}]")

    def _scale(self, code: Routine, value: str) -> None:
        """The sum of a block times the product of its scales, over 2^shift."""
        if not self.low_bits:
            code("add %factor, %half")
            code(f"lsrs %factor, %factor, #{self.shift}")
            _multiply(code, value, "%factor")
            return
        code(f"lsrs %number, %factor, #{self.shift}")
        code(f"lsls %factor, %factor, #{self.low_bits}")
        code(f"lsrs %factor, %factor, #{self.shift}", "the bits below")
        _multiply(code, "%number", value)
        _multiply(code, value, "%factor")
        code(f"asrs {value}, {value}, #{self.low_bits}")
        code(f"adds {value}, {value}, %number")


def _separate(code: Routine, sums: str) -> None:
    """The sums of two columns, which share a word, to words of their own."""
    code(f"mov %high, %{sums}")
    code("sxth %low, %high")
    code("subs %high, %high, %low")
    code(f"asrs %high, %high, #{HALF_BITS}")


def _multiply(code: Routine, value: str, factor: str) -> None:
    code(f"mul {value}, {value}, {factor}" if code.adds_products else f"muls {value}, {factor}")


def _largest(product: PackedProduct) -> numpy.ndarray:
    """Returns the largest magnitudes of sums [blocks, columns], whatever the levels are."""
    return LARGEST * numpy.abs(product.weights - product.zero_points[:, :, None]).sum(axis=2)


def integer_scales(product: PackedProduct) -> tuple[numpy.ndarray, numpy.ndarray]:
    """Returns the scales [blocks, columns] as integers below 2^16, and the exponent of each block."""
    largest = product.scales.max(axis=1)
    exponents = numpy.frexp(largest)[1].astype(numpy.int64) - SCALE_BITS
    exponents[largest == 0] = exponents[largest > 0].min(initial=0)
    scales = numpy.rint(numpy.ldexp(product.scales.astype(numpy.float64), -exponents[:, None])).astype(numpy.int64)
    return numpy.minimum(scales, (1 << SCALE_BITS) - 1), exponents


def _shifts(product: PackedProduct, sums: Sums) -> numpy.ndarray:
    """Returns the exponent of the sums, and by how many bits the results of each block are shifted: 32 bits hold the sums,
    whatever the data are."""
    scales, exponents = integer_scales(product)
    bits = exponents.max() - exponents
    factors = (scales << SCALE_BITS) + (1 << sums.shift - 1) >> sums.shift
    total = int((_largest(product) * factors >> bits[:, None]).sum(axis=0).max(initial=0))
    total += total >> SCALE_BITS  # each shift rounds down
    more = max(0, total.bit_length() - SUM_BITS)
    power = int(exponents.max()) + more + sums.shift + _EXPONENT
    return numpy.array([power, *numpy.minimum(bits + more, SUM_BITS)], numpy.int16)


class PackedProductLevels(KernelNode):
    """A library's subclass names its `core`."""

    core: ClassVar[Core]
    # Instructions of a multiply-accumulate, of a result and of an element of the data, measured on a Cortex-M0+.
    of_product, of_result, of_element = 2.8, 60, 100

    @classmethod
    def takes_per_mac(cls, view: NodeView, is_narrow: bool) -> float:
        return cls.of_product + cls.of_result / view.operator.depth + cls.of_element / view.operator.columns

    @classmethod
    def demands(cls, view: NodeView) -> Demands:
        columns, block = view.operator.columns, view.operator.block
        return Demands(scratch_bytes=4 * block + (4 * _padded(columns) if columns % GROUP else 0))

    def call(self) -> Call:
        core, product = self.core.on(self.view.features), PackedProduct.of(self.view)
        sums = Sums.of(product)
        name, text = _driver(core, sums, product)
        shifts = _shifts(product, sums)
        arguments: list[Argument] = [
            Input(0),
            Output(0),
            Constant("stream", sums.stream(product)),
            Constant("shifts", shifts),
        ]
        if product.has_bias:
            arguments.append(Constant("bias", product.bias))
        return Call(
            name,
            ("core/target.h", "kit/narrow/packed_product.h"),
            (*arguments, Scratch()),
            texts=(sums.text(core), text),
            facts=computed(f"1 row x {GROUP} columns"),
            steps=LevelProducts(product, integer_scales(product)[0], shifts.astype(numpy.int64), sums.shift, sums.low_bits),
        )


def _padded(columns: int) -> int:
    return -(-columns // GROUP) * GROUP


def _driver(core: Core, sums: Sums, product: PackedProduct) -> tuple[str, str]:
    """Returns the name and the text of the function that computes a layer."""
    columns, padded, depth, block = product.columns, _padded(product.columns), product.depth, product.block
    has_bias, has_part = product.has_bias, depth % block > 0
    multiply = sums.name(core)
    name = f"{multiply}_{product.rows}x{depth}x{columns}{'_bias' * has_bias}"
    count = f"depth - place < {block} ? depth - place : {block}".replace("depth", str(depth)) if has_part else str(block)
    centre = (1 << sums.bits - 1) * 0x10001
    lines = [
        f"aidge_kit_narrow_block block = {{0, 0, 0, {padded // GROUP}, {{0}}}};",
        "int32_t *const x = (int32_t *)scratch;",
        f"int32_t *const sums = x + {block};" if padded > columns else "int32_t *sums = (int32_t *)(void *)output;",
        "int32_t row, place;",
        f"for (row = 0; row < {product.rows}; row++) {{",
        f"    const int32_t exponent = aidge_kit_narrow_row_exponent(input, {depth});",
        "    const int32_t *next = stream;",
        "    const int16_t *shift = shifts + 1;",
        f"    (void)memset(sums, 0, {4 * padded}u);",
        f"    for (place = 0; place < {depth}; place += {block}) {{",
        *([f"        (void)memset(x, 0, {4 * block}u);"] if has_part else []),
        f"        aidge_kit_narrow_block_levels(input + place, x, &block, {count}, {sums.part}, exponent, *shift++, {centre});",
        f"        next = {multiply}(next, x, sums, &block);",
        "    }",
        f"    aidge_kit_narrow_floats(sums, output, exponent, shifts[0], {columns});",
        *([f"    for (place = 0; place < {columns}; place++) {{", "        output[place] += bias[place];", "    }"] * has_bias),
        f"    input += {depth};",
        f"    output += {columns};",
        *([] if padded > columns else [f"    sums += {columns};"]),
        "}",
    ]
    bias = " const float *bias," * has_bias
    parameters = f"const float *input, float *output, const int32_t *stream, const int16_t *shifts,{bias} void *scratch"
    body = "".join(f"    {line}\n" for line in lines)
    comment = f"/* {product.rows} x {depth} floats as int8 levels times {columns} packed columns. */"
    return name, f"{comment}\nstatic void {name}(\n    {parameters})\n{{\n{body}}}"
