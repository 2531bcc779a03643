# SPDX-License-Identifier: MIT
"""N_monitor as C: the counters, the functions that N_run calls around the layers, and the functions of the firmware.

An inference in steps or by rows counts an input in several calls. Each adds elements to sums; the end of the inference turns the
sums into counters.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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
from aidge_build.plan.seen_range import Number

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
    are the arrays in the order of the dump, with the bytes of an element; `sizes` are the bins of each histogram. If an input is
    counted in several calls (`is_in_pieces`), `sum_bytes` of sums precede the `counter_bytes` of the counters, and `pushed` are
    the condition and the statement of N_push_<input> ("": none)."""

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
    is_in_pieces: bool
    sum_bytes: int
    counter_bytes: int
    pushed: tuple[str, str]
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
    during = "another call of the model" if program.monitoring.is_in_pieces else f"{name}_run"
    read = (
        "Writes what the monitor has counted since its last reset, for `aidge-build accuracy --field`.",
        f"`out`: {prefix}_MONITOR_BYTES bytes. Not during {during}{' of this instance' if self else ''}.",
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
    inputs = tuple(_input(program, number, one, monitoring) for number, one in enumerate(monitoring.inputs))
    outputs = tuple(_output(program, one, monitoring) for one in monitoring.outputs)
    own = f"{program.name}_instance *self" if has_instances else ""
    return MonitorText(
        type=f"{program.name}_counters",
        symbol=monitor_symbol(program.name),
        field=_FIELD,
        at=_address(program),
        fields=_fields(monitoring),
        inputs=inputs,
        outputs=outputs,
        before=tuple(_whole(program, one, ports) for one in monitoring.inputs if not _arrives(program)),
        after=ending_calls(program, ports),
        sizes=tuple(one.bins for one in monitoring.histograms),
        bins=monitoring.bins,
        bin_types=tuple(sorted({*(one.bin_type for one in inputs), *(one.bin_type for one in outputs)} - {""})),
        most_counted=monitoring.most_counted,
        head=tuple(f"0x{byte:02x}u" for byte in monitoring.head() + monitor_digest(program).encode("ascii")),
        dump_bytes=monitoring.dump_bytes,
        written=_WRITTEN if inputs else (),
        own=own,
        parameters=f"const {own}, uint8_t *out" if own else "uint8_t *out",
        is_in_pieces=monitoring.is_in_pieces,
        sum_bytes=monitoring.sum_bytes,
        counter_bytes=monitoring.counter_bytes,
        pushed=_pushed(program, monitoring.inputs[0]) if monitoring.inputs and _arrives(program) else ("", ""),
    )


def counting_steps(program: Program, ports: tuple[Port, ...]) -> list[tuple[str, ...]]:
    """Returns the lines of the steps of N_step that count inputs; [] without a monitor. One entry has all steps of an input."""
    return [tuple(_steps(program, one, ports)) for one in (program.monitoring.inputs if program.monitoring else ())]


def ending_calls(program: Program, ports: tuple[Port, ...]) -> tuple[str, ...]:
    """Returns the statements that count outputs and end the counting of an inference; () without a monitor."""
    monitoring, at = program.monitoring, _address(program)
    if monitoring is None:
        return ()
    outputs = (f"{_symbol(program, one)}({at}, {_pointer(program, one, ports)});" for one in monitoring.outputs)
    return (*outputs, f"{program.name}_monitor_end({at});")


def _whole(program: Program, one: MonitoredInput, ports: tuple[Port, ...]) -> str:
    """Returns the statement that counts an input at once."""
    assert program.monitoring is not None
    span = f", 0u, {one.elements}u" if program.monitoring.is_in_pieces else ""
    return f"{_symbol(program, one)}({_address(program)}, {_pointer(program, one, ports)}{span});"


def _steps(program: Program, one: MonitoredInput, ports: tuple[Port, ...]) -> Iterator[str]:
    """Yields the lines of the steps of an input: the progress of the inference has the number of the step."""
    if one.steps == 1:
        yield _whole(program, one, ports)
        return
    last = one.steps - 1
    from_here = _bytes_at(_pointer(program, one, ports), f"at->step * {one.piece * one.dtype.size_bytes}u")
    count = (
        f"{one.piece}u" if one.elements % one.piece == 0 else f"at->step < {last}u ? {one.piece}u : {one.elements % one.piece}u"
    )
    yield f"{_symbol(program, one)}({_address(program)}, {from_here}, at->step, {count});"
    yield from (f"if (at->step < {last}u) {{", "    at->step++;", "    return 2;", "}", "at->step = 0u;")


def _pushed(program: Program, one: MonitoredInput) -> tuple[str, str]:
    """Returns the condition and the statement that count the rows of a push: all, or the rows that were taken if rows of the
    output leave in between."""
    progress = program.progress
    assert progress is not None and progress.arriving is not None
    row_bytes = progress.arriving.row_bytes
    row, call = row_bytes // one.dtype.size_bytes, f"{_symbol(program, one)}({_address(program)}"
    if progress.takes_turns:
        taken = _bytes_at("rows", f"at->pushed * {row_bytes}u")
        return "at->rows != came", f"{call}, {taken}, came, (at->rows - came) * {row}u);"
    return "count > 0", f"{call}, rows, at->rows, (uint32_t)count * {row}u);"


def _bytes_at(pointer: str, offset: str) -> str:
    return f"&((const uint8_t *)(const void *){pointer})[{offset}]"


def _arrives(program: Program) -> bool:
    """Whether the input comes by rows: it is the only one then."""
    return program.progress is not None and program.progress.arriving is not None


def _address(program: Program) -> str:
    """The C text of the address of the counters."""
    return f"&self->{_FIELD}" if program.options.arena == "caller" else f"&{monitor_symbol(program.name)}"


def _pointer(program: Program, one: MonitoredInput | MonitoredOutput, ports: tuple[Port, ...]) -> str:
    return next(port_pointer(program, port) for port in ports if port.tensor.name == one.name)


def _fields(monitoring: Monitoring) -> tuple[str, ...]:
    """The fields of the struct, the widest first."""
    count = len(monitoring.inputs)
    wide, narrow = (
        tuple(f"{c_type} {stem}{word}[{count}]" for word in ("saturated", "beyond") if count)
        for c_type, stem in (("uint32_t", ""), ("uint16_t", "with_"))
    )
    bins = (f"uint8_t bins[{monitoring.bins}]",) if monitoring.bins else ()
    return (*_sums(monitoring), "uint32_t inferences", *wide, "uint16_t counted", *narrow, *bins)


def _sums(monitoring: Monitoring) -> Iterator[str]:
    """Yields the fields of inferences in several calls: sum, spread, step, and the element before; saturated, beyond."""
    if not monitoring.is_in_pieces:
        return
    typed = [(number, one.sums) for number, one in enumerate(monitoring.inputs) if one.sums]
    for number, dtype in sorted(typed, key=lambda each: -each[1].size_bytes):
        yield f"{dtype.c_type} sums_{number}[4]"
    yield from (f"uint32_t found_{number}[2]" for number in range(len(monitoring.inputs)))


def _counted(monitoring: Monitoring) -> list[MonitoredInput | MonitoredOutput]:
    return [*monitoring.inputs, *monitoring.outputs]


def _symbol(program: Program, one: MonitoredInput | MonitoredOutput) -> str:
    return f"{program.name}_monitor_{'input' if isinstance(one, MonitoredInput) else 'output'}_{one.index}"


def _input(program: Program, number: int, one: MonitoredInput, monitoring: Monitoring) -> InputText:
    seen, histograms, sums = one.seen, _of(monitoring, one.name, ("mean", "spread", "step")), one.sums
    return InputText(
        comment_text(one.name),
        _symbol(program, one),
        number,
        one.dtype.c_type,
        one.elements,
        " || ".join(f"value == {integer(end)}" for end in one.ends) if one.ends else "",
        _beyond(one),
        sums.c_type if sums else "",
        sums.name if sums else "",
        _negative_in_parentheses(_literals([seen.center], sums)[0]) if seen and sums and seen.center else "",
        tuple(tuple(_literals(edges, sums)) for edges in seen.edges) if seen and sums else (),
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
