# SPDX-License-Identifier: MIT
"""The C expression of every element-wise operator, by the types of its operands; None where there is none."""

from __future__ import annotations

import math
from collections.abc import Callable

from aidge_build.contract.spec import NodeView
from aidge_build.graph.dtype import DType

from .each import Expression, operand_names

INTEGERS = (DType.int8, DType.int16, DType.int32, DType.int64, DType.uint8, DType.uint16, DType.uint32, DType.uint64)
NUMBERS = (DType.float32, *INTEGERS)

_SOFTPLUS = "((a > 0.0f ? a : 0.0f) + log1pf(aidge_kit_exp(-fabsf(a))))"

# Functions of one float32: expression and parameters.
FLOAT_FUNCTIONS: dict[str, tuple[str, Callable]] = {
    **{
        name: (f"{name.lower()}f(a)", lambda o: ())
        for name in (
            "Acos",
            "Acosh",
            "Asin",
            "Asinh",
            "Atan",
            "Atanh",
            "Ceil",
            "Cos",
            "Cosh",
            "Floor",
            "Log",
            "Sin",
            "Sinh",
            "Tan",
        )
    },
    "Binarizer": ("a > p[0] ? 1.0f : 0.0f", lambda o: (o.threshold,)),
    "Celu": ("(a > 0.0f ? a : 0.0f) + fminf(0.0f, p[0] * expm1f(a / p[0]))", lambda o: (o.alpha,)),
    "Erf": ("aidge_kit_erf(a)", lambda o: ()),
    "Mish": (f"a * aidge_kit_tanh({_SOFTPLUS})", lambda o: ()),
    "Reciprocal": ("1.0f / a", lambda o: ()),
    "Round": ("rintf(a)", lambda o: ()),
    "Selu": ("p[1] * (a > 0.0f ? a : p[0] * expm1f(a))", lambda o: (o.alpha, o.gamma)),
    "Shrink": ("a < -p[1] ? a + p[0] : (a > p[1] ? a - p[0] : 0.0f)", lambda o: (o.bias, o.lambd)),
    "Softplus": (_SOFTPLUS, lambda o: ()),
    "Softsign": ("a / (1.0f + fabsf(a))", lambda o: ()),
    "Swish": ("a * aidge_kit_logistic(p[0] * a)", lambda o: (o.alpha,)),
    "ThresholdedRelu": ("a > p[0] ? a : 0.0f", lambda o: (o.alpha,)),
}
COMPARISONS = {"Equal": "==", "Less": "<", "LessOrEqual": "<=", "Greater": ">", "GreaterOrEqual": ">="}
LOGIC = {"And": "(a != 0u) && (b != 0u)", "Or": "(a != 0u) || (b != 0u)", "Xor": "(a != 0u) != (b != 0u)"}
BITS = {"BitwiseAnd": "&", "BitwiseOr": "|", "BitwiseXor": "^"}
WRAPPING = {"Add": "+", "Sub": "-", "Mul": "*"}


def expression(view: NodeView) -> Expression | None:
    """The expression of a node that is not quantized."""
    kind, operator = view.node.type, view.operator
    types = [tensor.dtype for tensor in view.inputs if tensor is not None]
    finder = _FINDERS.get(kind)
    if finder is not None:
        return finder(operator, types, view)
    if kind in FLOAT_FUNCTIONS and types == [DType.float32]:
        value, parameters = FLOAT_FUNCTIONS[kind]
        return _of_kit(kind.lower(), value, parameters(operator))
    if kind in COMPARISONS and set(types) <= {*NUMBERS, DType.bool}:
        return Expression(kind.lower(), f"(uint8_t)(a {COMPARISONS[kind]} b)")
    if kind in LOGIC:
        return Expression(kind.lower(), f"(uint8_t)({LOGIC[kind]})")
    if kind in BITS and set(types) <= set(INTEGERS):
        return Expression(kind.lower(), f"({types[0].c_type})(a {BITS[kind]} b)")
    if kind in WRAPPING and set(types) <= set(INTEGERS) and not operator.clamps:
        return Expression(kind.lower(), _wrapped(types[0], f"a {WRAPPING[kind]} ", "b"))
    return None


def wide(dtype: DType) -> str:
    """The unsigned type in which arithmetic wraps."""
    return "uint64_t" if dtype.size_bytes == 8 else "uint32_t"


def signed(dtype: DType) -> bool:
    return dtype.name.startswith("int")


def _wrapped(dtype: DType, left: str, right: str) -> str:
    first, sign = left.split()
    return f"({dtype.c_type})(({wide(dtype)}){first} {sign} ({wide(dtype)}){right})"


def _negative(dtype: DType) -> str:
    return f"({dtype.c_type})(0u - ({wide(dtype)})a)"


def _bool(name: str, value: str) -> Callable:
    return lambda operator, types, view: Expression(name, f"(uint8_t)({value})")


def _is_inf(operator, types, view) -> Expression:
    wanted = {"": operator.detect_positive, "-": operator.detect_negative}
    found = [f"(a == {sign}INFINITY)" for sign, is_wanted in wanted.items() if is_wanted]
    suffix = f"{int(operator.detect_positive)}{int(operator.detect_negative)}"
    return Expression(f"isinf_{suffix}", f"(uint8_t)({' || '.join(found)})" if found else "(uint8_t)(a != a && a == a)")


def _gelu(operator, types, view) -> Expression | None:
    if types[0] is not DType.float32:
        return None
    if operator.with_tanh:
        cubic = "aidge_kit_multiply_add(0.044715f * a * a, a, a)"
        return _of_kit("gelu_tanh", f"0.5f * a * (1.0f + aidge_kit_tanh(0.7978845608028654f * {cubic}))")
    return _of_kit("gelu", "0.5f * a * (1.0f + aidge_kit_erf(a * 0.7071067811865476f))")


def _of_kit(name: str, value: str, parameters: tuple[float, ...] = ()) -> Expression:
    """The expression with the file that has its functions."""
    return Expression(name, value, (), parameters, ("kit/functions_float32.h",) * ("aidge_kit" in value))


def _sign(operator, types, view) -> Expression:
    (dtype,) = types
    if dtype is DType.float32:
        return Expression("sign", "a > 0.0f ? 1.0f : (a < 0.0f ? -1.0f : a)")
    return Expression("sign", f"({dtype.c_type})((a > 0) - (a < 0))" if signed(dtype) else f"({dtype.c_type})(a != 0u)")


def _of_integers(kind: str) -> Callable:
    def find(operator, types, view) -> Expression | None:
        (dtype,) = types
        values = {"BitwiseNot": f"({dtype.c_type})~a"}
        if signed(dtype):
            values |= {
                "Abs": f"a < 0 ? {_negative(dtype)} : a",
                "Neg": _negative(dtype),
                "ReLU": f"({dtype.c_type})(a > 0 ? a : 0)",
            }
        return Expression(kind.lower(), values[kind]) if dtype in INTEGERS and kind in values else None

    return find


def _clip(operator, types, view) -> Expression | None:
    (dtype,) = types
    if dtype not in INTEGERS:
        return None
    low, high = dtype.range
    bounds = tuple(int(min(max(bound, low), high)) for bound in (operator.minimum, operator.maximum))
    return Expression("clip", f"({dtype.c_type})(a < p[0] ? (p[0] > p[1] ? p[1] : p[0]) : (a > p[1] ? p[1] : a))", (), bounds)


def _clip_between(operator, types, view) -> Expression | None:
    if types[0] not in NUMBERS:
        return None
    given = [index for index, tensor in enumerate(view.inputs) if tensor is not None and index]
    c = types[0].c_type
    steps = [f"{c} v = a;"]
    for letter, index in zip(operand_names(3)[1:], given):
        steps.append(f"v = v {'<' if index == 1 else '>'} {letter} ? {letter} : v;")
    return Expression("clip_" + "_".join({1: "low", 2: "high"}[index] for index in given), "v", tuple(steps))


def _variadic(kind: str):
    def find(operator, types, view) -> Expression | None:
        dtype, letters = types[0], operand_names(len(types))
        if dtype not in NUMBERS:
            return None
        if kind in ("Max", "Min"):
            sign = ">" if kind == "Max" else "<"
            test = f"(m {sign} {{x}}) || (m != m)" if dtype is DType.float32 else f"m {sign} {{x}}"
            steps = [f"{dtype.c_type} m = a;", *(f"m = {test.format(x=x)} ? m : {x};" for x in letters[1:])]
            return Expression(kind.lower(), "m", tuple(steps))
        if dtype is DType.float32:
            total = " + ".join(letters)
            return Expression(kind.lower(), total if kind == "Sum" else f"({total}) * {1 / len(types)!r}f")
        if kind == "Sum":
            return Expression("sum", f"({dtype.c_type})(" + " + ".join(f"({wide(dtype)}){x}" for x in letters) + ")")
        return None

    return find


def _div(operator, types, view) -> Expression | None:
    dtype = types[0]
    if dtype not in INTEGERS or operator.clamps:
        return None
    c = dtype.c_type
    if signed(dtype):
        return Expression("div", f"({c})(b == 0 ? 0 : (b == -1 ? {_negative(dtype)} : a / b))")
    return Expression("div", f"({c})(b == 0u ? 0u : ({wide(dtype)})a / b)")


def _mod(operator, types, view) -> Expression | None:
    dtype = types[0]
    c, name = dtype.c_type, "fmod" if operator.fmod else "mod"
    if dtype is DType.float32:
        if operator.fmod:
            return Expression(name, "fmodf(a, b)")
        steps = ("float r = fmodf(a, b);", "r = r != 0.0f ? ((r < 0.0f) != (b < 0.0f) ? r + b : r) : copysignf(0.0f, b);")
        return Expression(name, "r", steps)
    if dtype not in INTEGERS:
        return None
    if not signed(dtype):
        return Expression(name, f"({c})(b == 0u ? 0u : ({wide(dtype)})a % b)")
    rest = f"const {c} r = ({c})((b == 0) || (b == -1) ? 0 : a % b);"
    return Expression(name, "r" if operator.fmod else f"({c})((r != 0) && ((r < 0) != (b < 0)) ? r + b : r)", (rest,))


def _pow(operator, types, view) -> Expression | None:
    base, exponent = types
    if base is DType.float32:
        return (
            Expression("pow", "powf(a, b)" if exponent is DType.float32 else "powf(a, (float)b)") if exponent in NUMBERS else None
        )
    if base not in INTEGERS or not signed(base):
        return None
    if exponent is DType.float32:
        low, high = base.range
        steps = ("const double v = pow((double)a, (double)b);",)
        return Expression(
            "pow",
            f"({base.c_type})(v >= {float(high + 1)!r} ? {_literal(high)} : (v > {float(low)!r} ? v : {_literal(low)}))".replace(
                "? v :", f"? ({base.c_type})v :"
            ),
            steps,
        )
    if exponent in INTEGERS and exponent is not DType.uint64:
        return Expression("pow", f"({base.c_type})aidge_ref_power(a, (int64_t)b)", (), (), ("shared/power.h",))
    return None


def _literal(value: int) -> str:
    if -(1 << 31) < value < (1 << 31):
        return str(value)
    return f"({value + 1}LL - 1)" if value < 0 else f"{value}LL"


def _shift(operator, types, view) -> Expression | None:
    dtype = types[0]
    if dtype not in INTEGERS:
        return None
    width, c = 8 * dtype.size_bytes, dtype.c_type
    beyond = f"(b < 0) || (b >= {width})" if signed(dtype) else f"b >= {width}u"
    if operator.left:
        return Expression("shift_left", f"({c})({beyond} ? 0u : ({wide(dtype)})a << b)")
    if signed(dtype):
        return Expression("shift_right", f"({c})({beyond} ? (a < 0 ? -1 : 0) : a >> b)")
    return Expression("shift_right", f"({c})({beyond} ? 0u : ({wide(dtype)})a >> b)")


def _where(operator, types, view) -> Expression:
    return Expression("where", "a != 0u ? b : c")


def _cast(operator, types, view) -> Expression | None:
    (source,), target = types, operator.to
    if target is DType.bool:
        return Expression(
            "cast_bool", f"(uint8_t)(a != {'0.0f' if source is DType.float32 else '0' if signed(source) else '0u'})"
        )
    if target not in NUMBERS or source not in (*NUMBERS, DType.bool):
        return None
    if source is not DType.float32 or target is DType.float32:
        return Expression("cast", f"({target.c_type})a")
    low, high = target.range
    return Expression(
        "cast",
        f"a >= {math.ldexp(1.0, high.bit_length())!r}f ? ({target.c_type}){_largest(target)} : "
        f"(a > {float(low)!r}f ? ({target.c_type})a : ({target.c_type}){_literal(low)})",
    )


def _largest(dtype: DType) -> str:
    high = dtype.range[1]
    return _literal(high) if high < 1 << 63 else f"{high}ULL"


_FINDERS = {
    **{name: _of_integers(name) for name in ("Abs", "BitwiseNot", "Neg", "ReLU")},
    **{name: _variadic(name) for name in ("Max", "Mean", "Min", "Sum")},
    "BitShift": _shift,
    "Cast": _cast,
    "Clip": _clip,
    "ClipBetween": _clip_between,
    "Div": _div,
    "Gelu": _gelu,
    "IsInf": _is_inf,
    "IsNaN": _bool("isnan", "a != a"),
    "Mod": _mod,
    "Not": _bool("not", "a == 0u"),
    "Pow": _pow,
    "Sign": _sign,
    "Where": _where,
}
ALL_TYPES = tuple(sorted({*_FINDERS, *FLOAT_FUNCTIONS, *COMPARISONS, *LOGIC, *BITS, *WRAPPING}))
FLOAT_TYPES = tuple(sorted({*FLOAT_FUNCTIONS, "Gelu", "Max", "Mean", "Min", "Mod", "Pow", "Sign", "Sum"}))
