# SPDX-License-Identifier: MIT
"""The manual page of an operator, made from what its class and the ONNX standard say: formula, shapes, types, errors, source."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Iterator, Mapping, Sequence

import numpy

from aidge_build.base.naming import counted
from aidge_build.operators.base import Operator, as_tuple
from aidge_build.operators.sample import Sample
from aidge_build.prepare.net import OPSET, builder_of
from aidge_build.sources.onnx_format import signature_of

PAGE_HEAD = """<!-- SPDX-License-Identifier: MIT -->
<!-- Written by `./sconsw docs`: do not edit. -->
# Operators

Every operator that can be imported, built with `aidge_build.net` and executed by the numpy backend `cpu`; operators with kernels
also become C. `aidge-build list operators` prints the table, `aidge-build list operators NAME` one page. [kit.md](kit.md) shows
how to add an operator.
"""
MOST_EXAMPLES = 3


def manual(onnx_name: str, operator: type[Operator], backends: Mapping[str, Sequence[str]]) -> str:
    """The page of one operator in Markdown."""
    function = builder_of(onnx_name, operator)
    text, _, details = (function.__doc__ or "").partition("\n\nInputs:\n")
    lines = [f"## {onnx_name}", "", text, "", f"    {function.__name__}{_plain(inspect.signature(function))}"]
    for line in f"Inputs:\n{details}".splitlines():
        lines += [f"- {line.strip()}"] if line.startswith(" ") else ["", line, ""] if line in ("Inputs:", "Attributes:") else []
    rules = signature_of(onnx_name, OPSET)
    if rules is not None:
        lines += ["", "Outputs:", "", *(f"- {entry.name} ({entry.kind})" for entry in rules.outputs)]
    kind = max(operator.__bases__, key=lambda base: len(base.__mro__)).__name__  # of several the most particular one
    lines += ["", f"Its type is {operator.__name__}, of the kind {kind}; {_gradient(operator)}."]
    lines += ["", "Runs on " + "; ".join(f"{backend} ({', '.join(dtypes)})" for backend, dtypes in backends.items()) + "."]
    examples = [_example(sample) for sample in operator.samples()[:MOST_EXAMPLES]]
    lines += ["", "Shapes:", "", *(f"- {example}" for example in dict.fromkeys(examples))] if examples else []
    refusals = list(dict.fromkeys(_refusals(operator)))
    lines += ["", "Refusals:", "", *(f"- {refusal}" for refusal in refusals)] if refusals else []
    return "\n".join([*lines, "", f"Source: `{_source(operator)}`.", ""])


def _source(operator: type[Operator]) -> str:
    """The file of the class: in this package its path from there, in a library that on this machine."""
    own = operator.__module__.startswith("aidge_build.")
    return f"{operator.__module__.replace('.', '/')}.py" if own else inspect.getfile(operator)


def _plain(signature: inspect.Signature) -> str:
    """Returns the signature without types: the page has them below it."""
    plain = [entry.replace(annotation=inspect.Parameter.empty) for entry in signature.parameters.values()]
    return str(signature.replace(parameters=plain))


def _gradient(operator: type[Operator]) -> str:
    if not operator.has_backward():
        return "without backward"
    if operator.straight_through:
        return "its backward is not the derivative"
    return f"its backward is checked against numeric gradients on {counted(len(operator.samples()), 'sample')}"


def _example(sample: Sample) -> str:
    with numpy.errstate(all="ignore"):
        results = as_tuple(sample.operator.forward(*sample.inputs))
    given = ", ".join("-" if value is None else str(list(value.shape)) for value in sample.inputs)
    return f"`{sample.operator}`: {given} -> {', '.join(str(list(result.shape)) for result in results)}"


def _refusals(operator: type[Operator]) -> Iterator[str]:
    """The messages of all `require` calls of the class and its bases; a computed part is written as `...`."""
    for cls in operator.__mro__:
        if not issubclass(cls, Operator) or cls is Operator:
            continue
        try:
            source = textwrap.dedent(inspect.getsource(cls))
        except OSError:  # a class of a library that was run from bytes
            continue
        for call in ast.walk(ast.parse(source)):
            if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
                continue
            if call.func.id == "require" and len(call.args) > 1 and (message := _message(call.args[1])):
                yield message


def _message(node: ast.expr) -> str:
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(str(part.value) if isinstance(part, ast.Constant) else "..." for part in node.values)
    return ""
