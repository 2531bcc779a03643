# SPDX-License-Identifier: MIT
"""Lookups of ai.onnx.ml on numbers of any type, as generated functions: LabelEncoder, OneHotEncoder, Imputer."""

from __future__ import annotations

import numpy

from aidge_build.contract.call import Call, Constant, Input, Literal, Output
from aidge_build.contract.kernel_kit.elementwise import ElementWise
from aidge_build.contract.node import KernelNode, kernel
from aidge_build.contract.spec import ROW_MAJOR, ImplSpec, IOSpec, NodeView, Predicate
from aidge_build.graph.dtype import DType

from ..shared.class_scores import smallest
from ..shared.each_expressions import NUMBERS

_ANY = IOSpec(DType.any, ROW_MAJOR)
_EXACT = 1 << 24  # integers up to here are floats


def _types(view: NodeView) -> str:
    wrong = [tensor.dtype.name for tensor in (*view.inputs, *view.outputs) if tensor.dtype not in NUMBERS]
    return f"the elements are {wrong[0]}" if wrong else ""


_NUMBERS = Predicate("elements are numbers", _types)
_SPEC = ImplSpec(_ANY, predicates=(_NUMBERS,))


@kernel("LabelEncoder", _SPEC)
class LabelEncoder(ElementWise):
    def call(self) -> Call:
        keys = self.operator.keys
        whole = self.inputs[0].dtype is not DType.float32
        return self._table() if whole and max(keys) - min(keys) < 2 * len(set(keys)) + 8 else self._search()

    def _stored(self, values: list) -> Constant:
        dtype = self.operator.dtype
        stored = dtype if dtype.is_float else smallest(values)
        return Constant("values", numpy.array(values, stored.numpy))

    def _table(self) -> Call:
        """A value for each integer from the smallest key to the largest, and the default at the end."""
        operator, x, y = self.operator, self.inputs[0].dtype, self.outputs[0].dtype
        first, last = min(operator.keys), max(operator.keys)
        found = dict(zip(reversed(operator.keys), reversed(operator.values)))
        values = self._stored([*(found.get(key, operator.default) for key in range(first, last + 1)), operator.default])
        stored = DType(values.values.dtype.name)
        function = f"aidge_ref_label_table_{x.name}_{stored.name}_{y.name}"
        text = f"""/* output = values[input - first], where there are `size` of them; the last one for any other input. */
static void {function}(const {x.c_type} *input, {y.c_type} *output, const {stored.c_type} *values, const int64_t *first,
    int32_t size, int32_t count)
{{
    int32_t i;
    for (i = 0; i < count; i++) {{
        const uint64_t place = (uint64_t)(int64_t)input[i] - (uint64_t)*first;
        output[i] = values[place < (uint64_t)size ? (int32_t)place : size];
    }}
}}"""
        start = Constant("first", numpy.array([first], numpy.int64))
        sizes = Literal(last - first + 1), Literal(self.outputs[0].elements)
        return Call(function, ("any/lookup.h",), (Input(0), Output(0), values, start, *sizes), texts=(text,))

    def _search(self) -> Call:
        """Sorted keys, halved until one is left; behind their values that of NaN, and the default."""
        operator, x, y = self.operator, self.inputs[0].dtype, self.outputs[0].dtype
        found = dict(zip(reversed(operator.keys), reversed(operator.values)))
        strange = [value for key, value in found.items() if key != key]
        known = sorted((key, value) for key, value in found.items() if key == key)
        values = self._stored([*(value for _, value in known), (strange or [operator.default])[-1], operator.default])
        stored = DType(values.values.dtype.name)
        function = f"aidge_ref_label_search_{x.name}_{stored.name}_{y.name}"
        text = f"""/* output = the value of the key that the input equals; values[size] for NaN, the next for others. */
static void {function}(const {x.c_type} *input, {y.c_type} *output, const {x.c_type} *keys, const {stored.c_type} *values,
    int32_t size, int32_t count)
{{
    int32_t i;
    for (i = 0; i < count; i++) {{
        const {x.c_type} x = input[i];
        int32_t low = 0, high = size;
        while (low < high) {{
            const int32_t middle = (low + high) / 2;
            if (keys[middle] < x) {{
                low = middle + 1;
            }} else {{
                high = middle;
            }}
        }}
        if ((low == size) || (keys[low] != x)) {{
            low = {"x != x ? size : size + 1" if x.is_float else "size + 1"};
        }}
        output[i] = values[low];
    }}
}}"""
        keys = Constant("keys", numpy.array([key for key, _ in known], x.numpy))
        sizes = Literal(len(known)), Literal(self.outputs[0].elements)
        return Call(function, ("any/lookup.h",), (Input(0), Output(0), keys, values, *sizes), texts=(text,))


def _categories(view: NodeView) -> str:
    large = view.inputs[0].dtype is DType.float32 and max(map(abs, view.operator.categories)) > _EXACT
    return "a category is no float32" if large else _types(view)


@kernel("OneHotEncoder", ImplSpec(_ANY, predicates=(Predicate("categories have a C type", _categories),)))
class OneHotEncoder(KernelNode):
    def call(self) -> Call:
        categories, x = self.operator.categories, self.inputs[0].dtype
        stored = DType.float32 if x.is_float else smallest(categories)
        function = f"aidge_ref_one_hot_encoder_{x.name}_{stored.name}"
        value = "truncf(*input)" if x.is_float else "*input"
        text = f"""/* A row of zeros for each element, with 1 at the place of its category. */
static void {function}(const {x.c_type} *input, float *output, const {stored.c_type} *categories, int32_t size, int32_t count)
{{
    for (; count > 0; count--) {{
        const {x.c_type} x = {value};
        int32_t i;
        for (i = 0; i < size; i++) {{
            *output++ = categories[i] == x ? 1.0f : 0.0f;
        }}
        input++;
    }}
}}"""
        table = Constant("categories", numpy.array(categories, stored.numpy))
        sizes = Literal(len(categories)), Literal(self.inputs[0].elements)
        return Call(function, ("any/lookup.h",), (Input(0), Output(0), table, *sizes), texts=(text,))


@kernel("Imputer", _SPEC)
class Imputer(ElementWise):
    def call(self) -> Call:
        operator, dtype = self.operator, self.inputs[0].dtype
        function = f"aidge_ref_imputer_{dtype.name}"
        equals = "(x == numbers[0]) || ((x != x) && (numbers[0] != numbers[0]))" if dtype.is_float else "x == numbers[0]"
        text = f"""/* An element that equals numbers[0] (NaN equals NaN) becomes the number of its column behind that. */
static void {function}(const {dtype.c_type} *input, {dtype.c_type} *output, const {dtype.c_type} *numbers, int32_t count,
    int32_t columns)
{{
    int32_t i;
    int32_t column = 0;
    for (i = 0; i < count; i++) {{
        const {dtype.c_type} x = input[i];
        output[i] = {equals} ? numbers[column + 1] : x;
        column = column + 1 == columns ? 0 : column + 1;
    }}
}}"""
        numbers = Constant("numbers", numpy.array([operator.replaced, *operator.imputed], dtype.numpy))
        sizes = Literal(self.outputs[0].elements), Literal(len(operator.imputed))
        return Call(function, ("any/lookup.h",), (Input(0), Output(0), numbers, *sizes), texts=(text,))
