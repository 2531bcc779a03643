# SPDX-License-Identifier: MIT
"""The C function of a recurrent layer around a library's products of matrices and vectors and its curves.

The scratch holds, in this order, in floats: the library's copy of an element of X (`x_floats`), the state h, the sums of all
gates, and the reset state for a GRU that resets before the product. A `Section` is a product that computes some of these sums.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy

from aidge_build.contract.kernel_kit.terms import plus, plus_product
from aidge_build.operators.recurrent import Recurrent

NUMBERS = 24  # before the limit: -infinity, infinity, two curves
RESET = "reset"  # the source of a section: h times the reset gate


@dataclass(frozen=True, eq=False)
class Section:
    """Sums of some gates = x W' + source R' + biases; `weights` and `recurrence` may be None.

    All three are indices of rows of the operator's W, R and B; the `biases` are added up.
    """

    first: int  # gates before it
    gates: int
    weights: numpy.ndarray | None
    recurrence: numpy.ndarray | None
    biases: tuple[numpy.ndarray, ...]
    source: str = "h"

    @property
    def sums(self) -> str:
        """The C expression of the address of these sums."""
        return plus_product("gates", self.first, "hidden")


def _resets_after(operator: Recurrent) -> bool:
    """Whether a GRU's reset gate multiplies R h instead of h."""
    return bool(getattr(operator, "reset_after", False))


def has_bounded_cell(operator: Recurrent) -> bool:
    """Whether the cell of an LSTM has a bound."""
    return bool(getattr(operator, "cell_limit", math.inf) < math.inf)


def sections(operator: Recurrent) -> tuple[Section, ...]:
    """Returns the products of one step: one for an LSTM or RNN; for a GRU one for z and r, and two for n."""
    hidden, rows = operator.hidden, numpy.arange(operator.gates * operator.hidden)
    if operator.type != "GRU":
        return (Section(0, operator.gates, rows, rows, (rows, rows + len(rows))),)
    gates, new = rows[: 2 * hidden], rows[2 * hidden :]
    return (
        Section(0, 2, gates, gates, (gates, gates + len(rows))),
        Section(2, 1, new, None, (new,)),
        Section(3, 1, None, new, (new + len(rows),), "h" if _resets_after(operator) else RESET),
    )


def source_of(section: Section) -> tuple[str, str]:
    """Returns C expressions of the address of the values that a section multiplies, and of their number; h follows x in
    memory."""
    if section.weights is None:
        return "gates + 4 * hidden" if section.source == RESET else "h", "hidden"
    return "x", "shape->inputs" + " + hidden" * (section.recurrence is not None)


def sums_of(operator: Recurrent) -> int:
    """Returns the number of floats for the sums of all sections and for the reset state."""
    gates = operator.gates if operator.type != "GRU" else 5 - _resets_after(operator)
    return gates * operator.hidden


def apart_from(operator: Recurrent) -> int:
    """Returns the number of floats after the state if products read a copy of the state: the next state of an RNN then replaces
    the last one in place."""
    return 0 if operator.type == "RNN" else sums_of(operator)


@dataclass(frozen=True)
class Driver:
    """A library's part of the function: the `prefix` of names, the `form` of the weights in names, the C types of X's `element`s
    and of the `stream`. `take` is C statements that copy the element of X at `time` into `x`; `x` has `x_floats` floats (a C
    expression) after `head` floats of the library. `keep` is C statements that copy a `{state}` for products to read; "" if
    products read the state itself. `product` returns C statements for the sums of a section. `curve` and `copy` name the C
    functions of curves and of copies of floats."""

    prefix: str
    form: str
    element: str
    stream: str
    take: str
    x_floats: str
    keep: str
    curve: str
    product: Callable[[int, Section], str]
    head: int = 0
    copy: str = "aidge_kit_copy_floats"

    def replaces(self, operator: Recurrent) -> bool:
        """Whether the sums of a step are at the state's address."""
        return bool(self.keep) and operator.type == "RNN"

    def name(self, operator: Recurrent) -> str:
        """The name of the layer's function; it tells all that the text depends on."""
        variant = "_after" * _resets_after(operator) + "_bounded" * has_bounded_cell(operator)
        return f"{self.prefix}_{operator.type.lower()}{variant}_{self.form}"


def gate_text(driver: Driver) -> str:
    """Returns the C text of a gate."""
    return f"""/* f of values within +-*limit: 0 tanh, 1 the logistic one, 2 ReLU. numbers: {{-infinity, infinity}}, curves. */
AIDGE_KIT_NOINLINE void {driver.prefix}_gate(float *values, int32_t count, int32_t function, const float *limit,
    const float *numbers)
{{
    if (*limit < INFINITY) {{
        aidge_kit_gate_clip(values, count, *limit);
    }}
    if (function == 2) {{
        aidge_kit_gate_rectify(values, count);
    }} else {{
        {driver.curve}(values, count, numbers + 2 + 11 * function);
    }}
}}"""


def layer_text(operator: Recurrent, driver: Driver, others: int = 0) -> str:
    """Returns the C text of the layer. The arguments of the C function: X, lengths, initial states, Y, last states, scratch,
    stream, numbers, structs. In `numbers`, the bound of a cell follows the library's `others` constants."""
    is_lstm = operator.type == "LSTM"
    more = ("const float *initial_c, ", "float *last_c, ") if is_lstm else ("", "")
    cell = (
        "\n            float *c = last_c + place;",
        "\n            aidge_kit_first_state(c, initial_c, place, shape->hidden);",
    )
    cell = cell if is_lstm else ("", "")
    steps = {"LSTM": _lstm, "GRU": _gru, "RNN": _rnn}[operator.type](operator, driver, NUMBERS + 1 + others)
    body = "\n".join(f"                {line}" for line in steps)
    return f"""/* {operator.type} over all sequences and directions. numbers: {{-infinity, infinity}}, curves, limit. */
static void {driver.name(operator)}(
    const {driver.element} *data, const int32_t *lengths, const float *initial_h, {more[0]}float *y, float *last_h, {more[1]}
    void *scratch, const {driver.stream} *stream, const float *numbers, const aidge_kit_recurrent_stream *places,
    const aidge_kit_recurrent_shape *shape)
{{
    int32_t direction, batch, t;
    for (direction = 0; direction < shape->directions; direction++) {{
        for (batch = 0; batch < shape->batches; batch++) {{
            const int32_t length = aidge_kit_recurrent_length(lengths, batch, shape->steps);
            const int32_t place = direction * shape->h_direction + batch * shape->h_batch;
            float *const state = {plus("(float *)scratch", driver.head)} + {driver.x_floats};
            float *out = y + direction * shape->y_direction + batch * shape->y_batch;{cell[0]}
            aidge_kit_first_state(state, initial_h, place, shape->hidden);{cell[1]}
            for (t = 0; t < length; t++) {{
                const int32_t time = shape->backwards[direction] != 0 ? length - 1 - t : t;
                const int32_t hidden = shape->hidden;
                float *const x = {plus("aidge_kit_again((float *)scratch)", driver.head)};
                float *const h = x + {driver.x_floats};
                float *const gates = {"h" if driver.replaces(operator) else "h + hidden"};
                {driver.take}
{body}
                {driver.copy}(out + time * shape->y_time, h, hidden);
            }}
            aidge_kit_no_outputs(out, length, shape);
            (void)memcpy(last_h + place, state, (uint32_t)shape->hidden * sizeof *state);
        }}
        stream += places->step;
    }}
}}"""


def _gate(driver: Driver, first: str, count: str, function: int, limit: str = f"numbers + {NUMBERS}") -> str:
    return f"{driver.prefix}_gate({first}, {count}, shape->functions[{plus('3 * direction', function)}], {limit}, numbers);"


def _kept(driver: Driver, state: str) -> list[str]:
    return [driver.keep.format(state=state)] if driver.keep else []


def _lstm(operator: Recurrent, driver: Driver, bound: int) -> list[str]:
    bounded = [
        f"aidge_kit_gate_clip(c, hidden, numbers[{bound}]);",
        f"{driver.copy}(gates + 3 * hidden, c, hidden);",
    ]
    return [
        *_kept(driver, "h"),
        *(driver.product(*part) for part in enumerate(sections(operator))),
        _gate(driver, "gates", "3 * hidden", 0),
        _gate(driver, "gates + 3 * hidden", "hidden", 1),
        "aidge_kit_lstm_cell(gates, c, hidden);",
        *(bounded if has_bounded_cell(operator) else []),
        _gate(driver, "gates + 3 * hidden", "hidden", 2, "numbers + 1"),
        "aidge_kit_gate_products(h, gates + hidden, gates + 3 * hidden, hidden);",
    ]


def _gru(operator: Recurrent, driver: Driver, bound: int) -> list[str]:
    products = [driver.product(*part) for part in enumerate(sections(operator))]
    if _resets_after(operator):
        lines = [
            *products,
            _gate(driver, "gates", "2 * hidden", 0),
            "aidge_kit_gate_multiples(gates + 2 * hidden, gates + 3 * hidden, gates + hidden, hidden);",
        ]
    else:
        lines = [
            *products[:2],
            _gate(driver, "gates", "2 * hidden", 0),
            "aidge_kit_gate_products(gates + 4 * hidden, h, gates + hidden, hidden);",
            *_kept(driver, "gates + 4 * hidden"),
            products[2],
            "aidge_kit_gate_sums(gates + 2 * hidden, gates + 3 * hidden, hidden);",
        ]
    return [
        *_kept(driver, "h"),
        *lines,
        _gate(driver, "gates + 2 * hidden", "hidden", 1),
        "aidge_kit_gru_state(h, gates, gates + 2 * hidden, hidden);",
    ]


def _rnn(operator: Recurrent, driver: Driver, bound: int) -> list[str]:
    return [
        *_kept(driver, "h"),
        *(driver.product(*part) for part in enumerate(sections(operator))),
        _gate(driver, "gates", "hidden", 0),
        *([] if driver.replaces(operator) else [f"{driver.copy}(h, gates, hidden);"]),
    ]
