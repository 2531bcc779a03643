# SPDX-License-Identifier: MIT
"""int8 fully connected layer."""

from __future__ import annotations

from aidge_build.contract.call import Call, Constant, Input, Output, computed
from aidge_build.contract.node import KernelNode, kernel
from aidge_build.contract.spec import ROW_MAJOR
from aidge_build.operators.arithmetic.requantize import clamp_levels

from ..core.assembly import c_function, loop
from ..core.conditions import linear_spec
from ..core.finer import has_offsets, in_bytes, numbers_of, offsets_of
from ..core.packed import bits_of_weights
from ..core.rounding import fixed_of, rounds_by_addition
from .dense import PARAMETERS, Dense, packing_of


@kernel("FC", linear_spec(ROW_MAJOR))
class FcInt8(KernelNode):
    def call(self) -> Call:
        rows, (output,) = self.inputs[1].data, self.outputs
        numbers, bits = numbers_of(self, rows)
        fixed = fixed_of(numbers, bits)
        levels = clamp_levels(self.operator.minimum, self.operator.maximum, output.quantization, output.dtype)
        clamps, adds = levels != output.dtype.range, rounds_by_addition(numbers, bits)
        is_uniform = fixed is None and not numbers.is_any and len(set(numbers.multipliers.tolist())) == 1
        weights = in_bytes(numbers.weights)
        packed = packing_of(bits_of_weights(self.view, weights), weights, numbers)
        form = Dense(*rows.shape[::-1], clamps, adds, bits, fixed, has_offsets(self.view), is_uniform, packed)
        batches = self.inputs[0].dims[0]
        arguments = (Input(0), Output(0), Constant("stream", form.stream(numbers, weights, offsets_of(numbers.weights))))
        note = f"8 outputs at a time, requantized in {'fixed point' if fixed else 'float'}{packed.note if packed else ''}"
        facts = computed("1 row x 8 outputs", 0, otherwise="fixed point" if fixed else "float")
        work = {"planned": batches * form.instructions}
        if batches == 1:
            return Call(form.name, ("core/helium.h",), arguments, note, (form.text(),), facts=facts, work=work)
        name = f"{form.name}_batches_{batches}"
        body = loop("batch", batches, [f"{form.name}(x, y, stream);", f"x += {form.inputs};", f"y += {form.outputs};"])
        driver = c_function(name, PARAMETERS, ["int32_t batch;", *body])
        return Call(name, ("core/helium.h",), arguments, note, (form.text(), driver), facts=facts, work=work)
