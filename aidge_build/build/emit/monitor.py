# SPDX-License-Identifier: MIT
"""N_monitor as C: the counters, the functions that N_run calls around the layers, and the functions of the firmware."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy

from aidge_build.base.naming import comment_text
from aidge_build.build.emit.digest import digest_of, facts_of
from aidge_build.build.emit.function import Function
from aidge_build.build.emit.places import port_pointer
from aidge_build.build.emit.ports import Port, scale_words
from aidge_build.graph.dtype import DType
from aidge_build.plan.constant_arrays import Array, integer
from aidge_build.plan.monitoring import FULL, Histogram, MonitoredInput, MonitoredOutput, Monitoring
from aidge_build.plan.program import Program
from aidge_build.plan.seen_range import Number, sum_dtype

_FIELD = "monitored"
_WRITTEN = (("saturated", 4), ("beyond", 4), ("with_saturated", 2), ("with_beyond", 2))


@dataclass(frozen=True)
class InputText:
    """The function of an input. `saturated` and `beyond` are conditions ("": never met); without bins `sum_type` is "";
    `edges` are C literals, `firsts` the first bins of the histograms."""

    title: str
    symbol: str
    number: int
    c_type: str
    elements: int
    saturated: str
    beyond: str
    sum_type: str
    bin_type: str
    center: str
    edges: tuple[tuple[str, ...], ...]
    firsts: tuple[int, ...]

    @property
    def zero(self) -> str:
        """The literal of the sums' type."""
        return "0.0f" if self.bin_type == "float32" else "0"


@dataclass(frozen=True)
class OutputText:
    """The function of an output; `first` is its first bin, `bins` are the bins of its first histogram."""

    title: str
    symbol: str
    kind: str
    c_type: str
    elements: int
    is_signed: bool
    bin_type: str
    bin_c_type: str
    edges: tuple[str, ...]
    first: int
    bins: int


@dataclass(frozen=True)
class MonitorText:
    """The values for the templates. `at` is the address of the counters, `before` and `after` are statements of N_run. `written`
    are the arrays in the order of the dump, with the bytes of an element; `sizes` are the bins of each histogram."""

    type: str
    symbol: str
    field: str
    at: str
    fields: tuple[str, ...]
    inputs: tuple[InputText, ...]
    outputs: tuple[OutputText, ...]
    before: tuple[str, ...]
    after: tuple[str, ...]
    sizes: tuple[int, ...]
    bins: int
    bin_types: tuple[str, ...]
    most_counted: int
    head: tuple[str, ...]
    dump_bytes: int
    written: tuple[tuple[str, int], ...]
    own: str
    parameters: str
    full: int = FULL
    c_types = {dtype.name: dtype.c_type for dtype in (DType.int32, DType.int64, DType.float32)}


def monitor_symbol(model: str) -> str:
    """The name of the counters that the model owns."""
    return f"{model}_{_FIELD}"


def monitor_functions(program: Program) -> tuple[str, ...]:
    """Returns the functions that N_run calls for the monitor; () without one."""
    monitoring = program.monitoring
    if monitoring is None:
        return ()
    counted = [_symbol(program, one) for one in _counted(monitoring)]
    return (*counted, f"{program.name}_monitor_end")


def api_functions(program: Program, self: tuple[str, ...], arguments: tuple[str, ...]) -> tuple[Function, ...]:
    """Returns N_monitor and N_monitor_reset; none without a monitor."""
    if program.monitoring is None:
        return ()
    name, prefix = program.name, program.name.upper()
    read = (
        "Writes what the monitor has counted since its last reset, for `aidge-build accuracy --field`.",
        f"`out`: {prefix}_MONITOR_BYTES bytes. Not during {name}_run{' of this instance' if self else ''}.",
        "Returns 0; 1 when a pointer is null; then nothing is written.",
    )
    parameters = (*(f"const {one}" for one in self), "uint8_t *out")
    return (
        Function(f"{name}_monitor", "int", parameters, (*arguments, "out"), read),
        Function(f"{name}_monitor_reset", "void", self, arguments, ("Sets the counters of the monitor to zero.",)),
    )


def monitor_digest(program: Program) -> str:
    """Returns the digest of what the counters mean: types and scales of inputs and outputs, ranges and edges. Neither weights nor
    options nor the name of the model are in it, so a later build from the same samples reads the dumps."""
    monitoring = program.monitoring
    assert monitoring is not None
    view = program.view
    scales = [[one.dtype.name, one.elements, scale_words(view.tensor(one.name))] for one in _counted(monitoring)]
    seen = [one.seen and [one.seen.low, one.seen.high, one.seen.center, one.seen.edges] for one in monitoring.inputs]
    kinds = [[one.kind, one.edges] for one in monitoring.outputs]
    return digest_of(facts_of([scales, seen, kinds]))


def monitor_text(program: Program, ports: tuple[Port, ...], has_instances: bool) -> MonitorText | None:
    """Returns the values for the templates; None for a model without a monitor."""
    monitoring = program.monitoring
    if monitoring is None:
        return None
    at = f"&self->{_FIELD}" if has_instances else f"&{monitor_symbol(program.name)}"
    inputs = tuple(_input(program, number, one, monitoring) for number, one in enumerate(monitoring.inputs))
    outputs = tuple(_output(program, one, monitoring) for one in monitoring.outputs)
    own = f"{program.name}_instance *self" if has_instances else ""
    return MonitorText(
        type=f"{program.name}_counters",
        symbol=monitor_symbol(program.name),
        field=_FIELD,
        at=at,
        fields=_fields(monitoring),
        inputs=inputs,
        outputs=outputs,
        before=_calls(program, monitoring.inputs, ports, at),
        after=(*_calls(program, monitoring.outputs, ports, at), f"{program.name}_monitor_end({at});"),
        sizes=tuple(one.bins for one in monitoring.histograms),
        bins=monitoring.bins,
        bin_types=tuple(sorted({*(one.bin_type for one in inputs), *(one.bin_type for one in outputs)} - {""})),
        most_counted=monitoring.most_counted,
        head=tuple(f"0x{byte:02x}u" for byte in monitoring.head() + monitor_digest(program).encode("ascii")),
        dump_bytes=monitoring.dump_bytes,
        written=_WRITTEN if inputs else (),
        own=own,
        parameters=f"const {own}, uint8_t *out" if own else "uint8_t *out",
    )


def _calls(
    program: Program, counted: Sequence[MonitoredInput] | Sequence[MonitoredOutput], ports: tuple[Port, ...], at: str
) -> tuple[str, ...]:
    """Returns the statements of N_run that count inputs or outputs."""
    pointers = {port.tensor.name: port_pointer(program, port) for port in ports}
    return tuple(f"{_symbol(program, one)}({at}, {pointers[one.name]});" for one in counted)


def _fields(monitoring: Monitoring) -> tuple[str, ...]:
    count = len(monitoring.inputs)
    wide, narrow = (
        tuple(f"{c_type} {stem}{word}[{count}]" for word in ("saturated", "beyond") if count)
        for c_type, stem in (("uint32_t", ""), ("uint16_t", "with_"))
    )
    bins = (f"uint8_t bins[{monitoring.bins}]",) if monitoring.bins else ()
    return ("uint32_t inferences", *wide, "uint16_t counted", *narrow, *bins)


def _counted(monitoring: Monitoring) -> list[MonitoredInput | MonitoredOutput]:
    return [*monitoring.inputs, *monitoring.outputs]


def _symbol(program: Program, one: MonitoredInput | MonitoredOutput) -> str:
    return f"{program.name}_monitor_{'input' if isinstance(one, MonitoredInput) else 'output'}_{one.index}"


def _input(program: Program, number: int, one: MonitoredInput, monitoring: Monitoring) -> InputText:
    seen, histograms = one.seen, _of(monitoring, one.name, ("mean", "spread", "step"))
    sums = sum_dtype(one.dtype, one.elements)
    return InputText(
        comment_text(one.name),
        _symbol(program, one),
        number,
        one.dtype.c_type,
        one.elements,
        " || ".join(f"value == {integer(end)}" for end in one.ends) if one.ends else "",
        _beyond(one),
        sums.c_type if seen else "",
        sums.name if seen else "",
        _negative_in_parentheses(_literals([seen.center], sums)[0]) if seen and seen.center else "",
        tuple(tuple(_literals(edges, sums)) for edges in seen.edges) if seen else (),
        tuple(histogram.first for histogram in histograms),
    )


def _beyond(one: MonitoredInput) -> str:
    """The condition for a value outside of the range of the samples; NaN is outside."""
    seen = one.seen
    if seen is None:
        return ""
    if one.ends is None:
        low, high = _literals([seen.low, seen.high], one.dtype)
        return f"!(value >= {low} && value <= {high})"
    least, largest = one.ends
    tests = [(f"value < {integer(int(seen.low))}", seen.low > least), (f"value > {integer(int(seen.high))}", seen.high < largest)]
    return " || ".join(text for text, may_be in tests if may_be)


def _output(program: Program, one: MonitoredOutput, monitoring: Monitoring) -> OutputText:
    histogram = _of(monitoring, one.name, ("class", "value"))[0]
    bins = DType.float32 if one.dtype.is_float else DType.int32
    edges = tuple(_literals(one.edges, bins)) if one.edges else ()
    return OutputText(
        comment_text(one.name),
        _symbol(program, one),
        one.kind,
        one.dtype.c_type,
        one.elements,
        not one.dtype.name.startswith("u"),
        bins.name if edges else "",
        bins.c_type,
        edges,
        histogram.first,
        histogram.bins,
    )


def _of(monitoring: Monitoring, name: str, words: Sequence[str]) -> list[Histogram]:
    return [one for one in monitoring.histograms if one.of == name and one.what in words]


def _literals(values: Sequence[Number], dtype: DType) -> list[str]:
    """Returns the C literals of numbers."""
    text = "".join(Array("", numpy.array(values, dtype.numpy), "").lines())
    return [literal for part in text.split(",") if (literal := part.strip())]


def _negative_in_parentheses(text: str) -> str:
    return f"({text})" if text.startswith("-") else text
