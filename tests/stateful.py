# SPDX-License-Identifier: MIT
"""Small models that remember something, and seeded random ones: text for `tests.models`, and which outputs are states."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy

from tests.models import model


@dataclass(frozen=True)
class Stateful:
    """A model by its text; `pairs` are output and input of each state, `initial` the first values that the file gives."""

    text: str
    inputs: str
    outputs: str
    pairs: dict[str, str]
    initial: dict[str, numpy.ndarray] = field(default_factory=dict)
    constants: dict[str, numpy.ndarray] = field(default_factory=dict)

    def file(self) -> bytes:
        """The bytes of the ONNX file."""
        return model(self.text, inputs=self.inputs, outputs=self.outputs, constants={**self.constants, **self.initial})

    def words(self) -> list[str]:
        """The command line's options."""
        return [f"--state={output}={source}" for output, source in self.pairs.items()]


def wide(name: str, size: int = 4) -> str:
    """A tensor's signature."""
    return f"float[1,{size}] {name}"


def text_of(*names: str, size: int = 4) -> str:
    return ", ".join(wide(name, size) for name in names)


# By what a state can be: each is a way in which storing too early, or not at all, would go wrong.
MODELS = {
    "a running sum in place": Stateful("n = Add(s, x) y = Neg(n)", text_of("x", "s"), text_of("y", "n"), {"n": "s"}),
    "the old value is read behind the new one": Stateful(
        "n = Add(s, x) z = Neg(n) y = Mul(z, s)", text_of("x", "s"), text_of("y", "n"), {"n": "s"}
    ),
    "a delay line of three": Stateful(
        "n1 = Identity(x) n2 = Identity(s1) n3 = Identity(s2) y = Identity(s3)",
        text_of("x", "s1", "s2", "s3"),
        text_of("y", "n1", "n2", "n3"),
        {"n1": "s1", "n2": "s2", "n3": "s3"},
        {"s2": numpy.array([[1, -2, 3.5, 0]], numpy.float32)},
    ),
    "two states that change places": Stateful(
        "n = Identity(t) m = Identity(s) y = Add(s, x)",
        text_of("x", "s", "t"),
        text_of("y", "n", "m"),
        {"n": "s", "m": "t"},
        {"s": numpy.full((1, 4), 0.25, numpy.float32), "t": numpy.full((1, 4), -3, numpy.float32)},
    ),
    "a state that never changes": Stateful(
        "n = Identity(s) y = Mul(s, x)",
        text_of("x", "s"),
        text_of("y", "n"),
        {"n": "s"},
        {"s": numpy.full((1, 4), 2, numpy.float32)},
    ),
    "the next value is an output, too": Stateful(
        "n = Add(s, x) y = Identity(n)", text_of("x", "s"), text_of("y", "n"), {"n": "s"}
    ),
    "the input is the next value": Stateful("y = Sub(x, s)", text_of("x", "s"), text_of("y", "x"), {"x": "s"}),
    "the next value is a constant": Stateful(
        "n = Add(c, c) y = Add(s, x)",
        text_of("x", "s"),
        text_of("y", "n"),
        {"n": "s"},
        constants={"c": numpy.ones((1, 4), numpy.float32)},
    ),
    "the next value is a joint tensor": Stateful(
        "a = Neg(x) b = Abs(x) n = Concat<axis=0>(a, b) m = Neg(n) y = Add(m, s)",
        f"{wide('x')}, float[2,4] s",
        "float[2,4] y, float[2,4] n",
        {"n": "s"},
    ),
    "a window that slides": Stateful(
        "w = Concat<axis=1>(s, x) n = Slice(w, one, end, axes) y = ReduceSum(w, axes)",
        f"float[1,1] x, {wide('s')}",
        f"float[1,1] y, {wide('n')}",
        {"n": "s"},
        constants={"one": numpy.array([1]), "end": numpy.array([5]), "axes": numpy.array([1])},
    ),
    "a window of pairs of channels": Stateful(
        "w = Concat<axis=2>(s, x) n = Slice(w, two, end, axes) v = Conv<dilations=[2]>(w, k) y = Identity(v)",
        "float[1,4,2] x, float[1,4,3] s",
        "float[1,2,1] y, float[1,4,3] n",
        {"n": "s"},
        {"s": numpy.arange(12, dtype=numpy.float32).reshape(1, 4, 3) - 6},
        constants={
            "two": numpy.array([2]),
            "end": numpy.array([5]),
            "axes": numpy.array([2]),
            "k": numpy.arange(24, dtype=numpy.float32).reshape(2, 4, 3) - 11,
        },
    ),
    "a window that another layer reads, too": Stateful(
        "w = Concat<axis=1>(s, x) n = Slice(w, one, end, axes) t = Neg(w) y = ReduceSum(t, axes)",
        f"float[1,1] x, {wide('s')}",
        f"float[1,1] y, {wide('n')}",
        {"n": "s"},
        constants={"one": numpy.array([1]), "end": numpy.array([5]), "axes": numpy.array([1])},
    ),
    "the old frames are read beside the window": Stateful(
        "w = Concat<axis=1>(s, x) n = Slice(w, one, end, axes) t = ReduceSum(s, axes) u = ReduceMax<axes=[1]>(w) y = Sub(t, u)",
        f"float[1,1] x, {wide('s')}",
        f"float[1,1] y, {wide('n')}",
        {"n": "s"},
        constants={"one": numpy.array([1]), "end": numpy.array([5]), "axes": numpy.array([1])},
    ),
    "the old frames are joined to themselves": Stateful(
        "w = Concat<axis=1>(s, s) n = Slice(w, one, end, axes) y = Add(n, x)",
        f"{wide('x')}, {wide('s')}",
        f"{wide('y')}, {wide('n')}",
        {"n": "s"},
        {"s": numpy.arange(4, dtype=numpy.float32).reshape(1, 4)},
        constants={"one": numpy.array([1]), "end": numpy.array([5]), "axes": numpy.array([1])},
    ),
    "a row of a cache": Stateful(
        "n = ScatterND(s, i, x) y = ReduceMax<axes=[0],keepdims=1>(n) f = Cast<to=1>(i) g = Add(f, c) j = Cast<to=7>(g)",
        "float[1,4] x, float[3,4] s, int64[1,1] i",
        "float[1,4] y, float[3,4] n, int64[1,1] j",
        {"n": "s", "j": "i"},
        {"s": numpy.arange(12, dtype=numpy.float32).reshape(3, 4) - 6},
        constants={"c": numpy.array([[0.5]], numpy.float32)},
    ),
    "bytes and words": Stateful(
        "c = Add(k, one) f = Cast<to=1>(c) y = Mul(f, x) b = Not(p)",
        f"{wide('x')}, int32[1,1] k, bool[3] p",
        f"{wide('y')}, int32[1,1] c, bool[3] b",
        {"b": "p", "c": "k"},
        {"k": numpy.array([[-7]], numpy.int32)},
        {"one": numpy.array([[1]], numpy.int32)},
    ),
}
_TWO = ("Add", "Mul", "Sub", "Max")
_ONE = ("Neg", "Abs", "Identity", "Relu")


def random_stateful(seed: int) -> Stateful:
    """A graph of up to ten nodes on one to four states; which tensors are their next values, the seed decides."""
    random = numpy.random.Generator(numpy.random.PCG64(seed))
    states = [f"s{index}" for index in range(random.integers(1, 5))]
    known, lines = ["x", *states], []
    for index in range(int(random.integers(len(states) + 1, 11))):
        name = f"t{index}"
        one, two = (known[position] for position in random.integers(0, len(known), 2))
        kind = (_TWO if random.random() < 0.6 else _ONE)[random.integers(0, 4)]
        lines.append(f"{name} = {kind}({one}, {two})" if kind in _TWO else f"{name} = {kind}({one})")
        known.append(name)
    made = [line.split(" ")[0] for line in lines]
    chosen = list(random.permutation(made[:-1])[: len(states)])
    outputs = [made[-1], *chosen]
    initial = {name: random.normal(size=(1, 4)).astype(numpy.float32) for name in states if random.random() < 0.5}
    return Stateful(
        " ".join(lines), text_of("x", *states), text_of(*outputs), dict(zip(map(str, chosen), states, strict=True)), initial
    )
