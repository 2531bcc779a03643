# SPDX-License-Identifier: MIT
"""Makes one function per operator from the registry; the function adds a node to a graph under construction."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import MISSING
from functools import cache
from keyword import iskeyword

import numpy

from aidge_build.base.errors import AidgeError
from aidge_build.graph.dtype import DType
from aidge_build.operators import builtin_operators
from aidge_build.operators.attributes import declared_attributes, type_of
from aidge_build.operators.base import Operator, overrides_from_onnx
from aidge_build.prepare.net.graph import OPSET, Value
from aidge_build.sources.onnx_format import AttributeRule, NodeSignature, Parameter, number_of, signature_of

_TYPES = {
    "INT": "int",
    "FLOAT": "float",
    "STRING": "str",
    "INTS": "tuple[int, ...]",
    "FLOATS": "tuple[float, ...]",
    "STRINGS": "tuple[str, ...]",
    "TENSOR": "numpy.ndarray",
}
_ABSENT = inspect.Parameter.empty
_CALL = ("outputs", "name")  # every function takes these in addition to inputs and attributes


def builder_names() -> list[str]:
    """Returns the names of the functions: the ONNX names of the built-in operators, without their domains."""
    return sorted({name.rpartition("::")[2] for name in builtin_operators()} - {"Constant"})


@cache
def builder(name: str) -> Callable[..., Value | tuple[Value, ...]]:
    """Returns the function of a built-in operator; the ONNX standard's operator if another domain has the same name."""
    found = [name] if name in builtin_operators() else [full for full in builtin_operators() if full.rpartition("::")[2] == name]
    if len(found) != 1:
        raise AidgeError(
            f"{len(found)} operators are called {name}",
            code="OPERATOR",
            tried=sorted(found),
            hint="'aidge-build list operators' lists them",
        )
    return builder_of(found[0], builtin_operators()[found[0]])


def builder_of(full_type: str, operator: type[Operator]) -> Callable[..., Value | tuple[Value, ...]]:
    """Returns the function of any operator, for example one of a library, which the graph must know, too."""
    rules = signature_of(full_type, OPSET) or _own_signature(operator)

    def build(*values, **keywords):
        with fitting(full_type):
            return _build(full_type, rules, values, keywords)

    build.__name__ = build.__qualname__ = full_type.rpartition("::")[2]
    build.__module__ = "aidge_build.prepare.net"
    vars(build)["__signature__"] = _signature(rules)
    build.__doc__ = _doc(operator, rules)
    return build


def _own_signature(operator: type[Operator]) -> NodeSignature:
    """Returns the signature by the class itself: the inputs of `forward`, and the declared attributes."""
    inputs = []
    reads_itself = overrides_from_onnx(operator)
    for parameter in list(inspect.signature(operator.forward).parameters.values())[1:]:
        kind = "single" if parameter.default is parameter.empty else "optional"
        inputs.append(Parameter(parameter.name, "variadic" if parameter.kind is parameter.VAR_POSITIONAL else kind, ()))
    kinds = {text: kind for kind, text in _TYPES.items()} | {"bool": "INT", "DType": "INT"}
    attributes = tuple(
        AttributeRule(name, kinds[type_of(entry)], entry.default is MISSING, None if entry.default is MISSING else entry.default)
        for name, entry in sorted(declared_attributes(operator).items())
    )
    return NodeSignature(1, tuple(inputs), (Parameter("y", "single", ()),), attributes, reads_itself)


def _signature(rules: NodeSignature) -> inspect.Signature:
    parameters = []
    for entry in rules.inputs:
        kind = inspect.Parameter.VAR_POSITIONAL if entry.kind == "variadic" else inspect.Parameter.POSITIONAL_OR_KEYWORD
        default = None if entry.kind == "optional" else _ABSENT
        parameters.append(inspect.Parameter(_python(entry.name), kind, default=default, annotation="Value"))
    for rule in rules.attributes:
        parameters.append(
            inspect.Parameter(
                _python(rule.name),
                inspect.Parameter.KEYWORD_ONLY,
                annotation=_TYPES.get(rule.kind, "object"),
                default=_ABSENT if rule.required else rule.default,
            )
        )
    for name, annotation, usual in zip(_CALL, ("int", "str"), (1, "")):
        parameters.append(inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=annotation, default=usual))
    if rules.open:
        parameters.append(inspect.Parameter("attributes", inspect.Parameter.VAR_KEYWORD))
    return inspect.Signature(parameters)


def _python(name: str) -> str:
    return f"{name}_" if iskeyword(name) else name


def _doc(operator: type[Operator], rules: NodeSignature) -> str:
    lines = [inspect.getdoc(operator) or "", "", "Inputs:"]
    for entry in rules.inputs:
        allowed = ", ".join(dtype.name for dtype in entry.dtypes)
        lines.append(f"    {entry.name} ({entry.kind}){': ' + allowed if allowed else ''}")
    lines += ["Attributes:"] if rules.attributes else []
    for rule in rules.attributes:
        shown = "required" if rule.required else "optional" if rule.default is None else f"default {rule.default!r}"
        lines.append(f"    {rule.name}: {_TYPES.get(rule.kind, rule.kind)}, {shown}")
    return "\n".join(
        [
            *lines,
            "",
            "`outputs` is the number of wanted outputs (several come as a tuple), `name` the name of the node.",
            "Numbers and arrays as inputs become constants. AidgeError when something does not fit.",
        ]
    )


def _build(full_type: str, rules: NodeSignature, values: tuple, keywords: dict) -> Value | tuple[Value, ...]:
    given = _signature(rules).bind(*values, **keywords).arguments
    inputs: list = []
    for entry in rules.inputs:
        value = given.get(_python(entry.name))
        inputs += list(value or ()) if entry.kind == "variadic" else [value]
    graph = next((value.graph for value in inputs if isinstance(value, Value)), None)
    if graph is None:
        raise AidgeError(
            f"{full_type}: no input is a value of a graph",
            code="OPERATOR",
            hint="graph.input, graph.parameter and graph.constant make values",
        )
    if "::" not in full_type and rules.since > graph.opset:
        raise AidgeError(
            f"{full_type} came with opset {rules.since}, the graph is one of opset {graph.opset}",
            code="OPERATOR",
            hint=f"net.Graph({graph.name!r}, opset={rules.since})",
        )
    outputs = given.get("outputs", 1)
    attributes = {
        rule.name: _attribute(rule, given[_python(rule.name)])
        for rule in rules.attributes
        if given.get(_python(rule.name)) is not None
    }
    attributes |= given.get("attributes", {})
    made = graph.node(full_type, [_input(graph, value, inputs) for value in inputs], attributes, outputs, given.get("name", ""))
    return made[0] if outputs == 1 else made


@contextmanager
def fitting(full_type: str) -> Iterator[None]:
    """Turns errors about arguments that the function cannot take (a text as a number, an empty list) into AidgeError."""
    try:
        yield
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise AidgeError(
            f"{full_type}: {error}",
            code="OPERATOR",
            hint=f"help(net.{full_type.rpartition('::')[2]}) shows the inputs and attributes",
        ) from error


def _input(graph, value, inputs: list) -> Value | None:
    """Returns a value as it is, and numbers as a constant; real numbers get the type of the first real input."""
    if value is None or isinstance(value, Value):
        return value
    if not isinstance(value, numpy.ndarray | numpy.generic):
        value = numpy.asarray(value)
        dtype = next(
            (other.dtype for other in inputs if isinstance(other, Value) and not other.is_open and other.dtype.is_float),
            DType.float32,
        )
        value = value.astype({"f": dtype.numpy, "i": numpy.int64}.get(value.dtype.kind, value.dtype))
    return graph.constant(value)


def _attribute(rule: AttributeRule, value):
    """Returns the value as in a file: truth values and types as integers, lists as tuples, whole numbers as reals if wanted."""
    if rule.kind in ("INTS", "FLOATS", "STRINGS"):
        item = {"INTS": int, "FLOATS": float, "STRINGS": str}[rule.kind]
        return tuple(item(one) for one in value)
    if isinstance(value, DType):
        return number_of(value)
    return int(value) if isinstance(value, bool | numpy.integer) else float(value) if rule.kind == "FLOAT" else value
