# SPDX-License-Identifier: MIT
"""Bands of a depthwise convolution one channel at a time: planes of a band whose rows all lie inside. A band at an edge is copied
into scratch with the rows that it lacks."""

from __future__ import annotations

import itertools
from dataclasses import replace

from . import planes_text, strips_text
from .assembly import c_function, loop
from .geometry import Geometry
from .planes import Planes
from .strips import Strips


def inside(shape: Geometry) -> Geometry:
    """The largest band as an image that lacks no row; what is no band as it is."""
    return replace(shape, in_height=shape.reached_height, top=0, bands=None) if shape.bands else shape


def of_one_row(form: Planes) -> Planes | None:
    """The form for one row of the output that reads the same stream; None where none fits."""
    row = replace(form.shape, out_height=1)
    row = replace(row, in_height=row.reached_height)
    ways = itertools.product((False, True), repeat=2)
    forms = [replace(form, shape=row, tall=tall, down=down) for tall, down in ways]
    return min((form for form in forms if form.fits), key=lambda form: form.instructions, default=None)


def bands_bytes(form: Planes) -> int:
    """Of scratch: behind the plane the rows of a band at an edge."""
    return _plane_bytes(form) + form.shape.in_height * form.shape.in_width * form.shape.channels


def _plane_bytes(form: Planes) -> int:
    return -(-form.plane_bytes // 4) * 4


def text_of(form: Planes) -> str:
    """The C text of the function for one image."""
    return strips_text.text_of(form) if isinstance(form, Strips) else planes_text.text_of(form)


def places_lines(places: list[int]) -> list[str]:
    """The table of a driver."""
    rows = [", ".join(map(str, places[first : first + 16])) for first in range(0, len(places), 16)]
    return ["static const uint16_t places[] = {", *(f"    {row}," for row in rows), "};"]


def bands_texts(form: Planes, shape: Geometry) -> tuple[str, tuple[str, ...]]:
    """Name and texts of the function for all bands of the layer."""
    rows, texts = _rows_texts(form)
    if not shape.has_smaller_bands:
        return rows, texts
    row, more = _rows_texts(of_one_row(form))
    name, step = f"{rows}_or_less", shape.in_width * shape.channels
    body = [
        f"if (out_height == {shape.out_height}) {{",
        f"    {rows}(x, y, stream, scratch, in_height, top, out_height);",
        "} else {",
        "    int32_t row;",
        *(
            f"    {line}"
            for line in loop(
                "row",
                "out_height",
                [
                    f"const int32_t first = row * {shape.stride_height} - top;",
                    "const int32_t begin = first > 0 ? first : 0;",
                    f"{row}(x + begin * {step}, y, stream, scratch, in_height - begin, begin - first, 1);",
                    f"y += {shape.out_width * shape.channels};",
                ],
            )
        ),
        "}",
    ]
    return name, tuple(dict.fromkeys((*texts, *more, c_function(name, PARAMETERS, body))))


PARAMETERS = "const int8_t *x, int8_t *y, const int8_t *stream, void *scratch, int32_t in_height, int32_t top, int32_t out_height"


def _rows_texts(form: Planes) -> tuple[str, tuple[str, ...]]:
    """Name and texts of a function for bands with all rows of the form, of which `top` lie above the image."""
    shape, name = form.shape, f"{form.name}_rows"
    step, rows = shape.in_width * shape.channels, shape.in_height
    body = [
        *places_lines(form.places),
        "(void)out_height;",
        f"aidge_helium_fill((int8_t *)scratch, stream[0], {form.plane_bytes});",
        f"if ((top > 0) || (in_height < {rows})) {{",
        f"    int8_t *const copies = (int8_t *)scratch + {_plane_bytes(form)};",
        f"    const int32_t seen = in_height < {rows} - top ? in_height : {rows} - top;",
        f"    aidge_helium_fill(copies, stream[0], top * {step});",
        f"    aidge_helium_wide_copy(copies + top * {step}, x, seen * {step});",
        f"    aidge_helium_fill(copies + (top + seen) * {step}, stream[0], ({rows} - top - seen) * {step});",
        "    x = copies;",
        "}",
        f"{form.name}(x, y, stream, (int8_t *)scratch, places);",
    ]
    return name, (text_of(form), c_function(name, PARAMETERS, body))
