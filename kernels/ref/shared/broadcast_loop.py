# SPDX-License-Identifier: MIT
"""The C loop over two tensors that broadcast to one, with an expression of two elements in it."""

from __future__ import annotations

from collections.abc import Sequence

SOURCE = "shared/broadcast_loop.h"


def broadcast_loop(
    function: str, c_type: str, numbers: str, value: str, before: Sequence[str] = (), steps: Sequence[str] = ()
) -> str:
    """The function of elements of `c_type`: `value` of *a and *b after the `steps` of this element. `numbers` are its parameters
    behind the output, `before` declarations in front of the loop."""
    first = "".join(f"    {line}\n" for line in before)
    inner = "".join(f"            {line}\n" for line in steps)
    return f"""/* An element of the output from one of each input, with broadcasting. */
static void {function}(const {c_type} *first, const {c_type} *second, {c_type} *output,
    {numbers}const aidge_kit_broadcast_shape *shape)
{{
{first}    const int32_t step_a = shape->first_step;
    const int32_t step_b = shape->second_step;
    aidge_kit_broadcast_place place;
    int32_t run, i;
    (void)memset(&place, 0, sizeof place);
    for (run = 0; run < shape->runs; run++) {{
        const {c_type} *a = first + place.first;
        const {c_type} *b = second + place.second;
        for (i = shape->length; i > 0; i--) {{
{inner}            *output++ = {value};
            a += step_a;
            b += step_b;
        }}
        aidge_kit_broadcast_next(shape, &place);
    }}
}}"""
