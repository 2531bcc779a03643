# SPDX-License-Identifier: MIT
"""Small models whose input can come by rows, and a program that pushes rows in every size and order."""

from __future__ import annotations

import numpy

from tests.instances import memory_of_instance
from tests.models import model


def quantized(name: str, expression: str) -> str:
    """A layer in int8, spelled as ONNX exporters do."""
    stored = f"{name} = QuantizeLinear(f_{name}, scale, zero) d_{name} = DequantizeLinear({name}, scale, zero)"
    return f"f_{name} = {expression} {stored}"


def image_classifier(height: int = 23, width: int = 13, seed: int = 1) -> bytes:
    """int8: rows of `width` bytes; windows with strides and pads, a pool over everything."""
    random = numpy.random.default_rng(seed)
    text = [
        "d_x = DequantizeLinear(x, scale, zero)",
        *(f"d_w{index} = DequantizeLinear(w{index}, weight_scale, zero)" for index in range(3)),
        quantized("a", "Conv<pads = [1, 1, 1, 1], strides = [2, 2]>(d_x, d_w0)"),
        quantized("b", "Conv(d_a, d_w1)"),
        quantized("c", "MaxPool<kernel_shape = [3, 3], pads = [1, 1, 1, 1], strides = [1, 1]>(d_b)"),
        quantized("d", "Conv<pads = [1, 1, 1, 1]>(d_c, d_w2)"),
        "f_y = GlobalAveragePool(d_d) y = QuantizeLinear(f_y, scale, zero)",
    ]
    shapes = [(8, 1, 3, 3), (12, 8, 1, 1), (8, 12, 3, 3)]
    constants = {f"w{index}": random.integers(-127, 128, shape).astype(numpy.int8) for index, shape in enumerate(shapes)}
    constants |= {"scale": numpy.float32(1 / 32), "zero": numpy.int8(0), "weight_scale": numpy.float32(1 / 300)}
    return model(" ".join(text), inputs=f"int8[1,1,{height},{width}] x", outputs="int8[1,8,1,1] y", constants=constants)


def image_filter(height: int = 20, width: int = 9) -> bytes:
    """float32: the output is as large as the input, and written row by row."""
    weights = numpy.random.default_rng(2).normal(size=(1, 1, 3, 3)).astype(numpy.float32)
    text = "a = Conv<pads = [1, 1, 1, 1]>(x, w) b = Relu(a) y = MaxPool<kernel_shape = [2, 2], strides = [2, 1]>(b)"
    dims = f"float[1,1,{height // 2},{width - 1}]"
    return model(text, inputs=f"float[1,1,{height},{width}] x", outputs=f"{dims} y", constants={"w": weights})


def flat_image(height: int = 20, width: int = 9) -> bytes:
    """float32: the input is one row of numbers in the file, and an image for the layers."""
    weights = numpy.random.default_rng(2).normal(size=(1, 1, 3, 3)).astype(numpy.float32)
    text = "image = Reshape(x, dims) a = Conv(image, w) y = Relu(a)"
    constants = {"w": weights, "dims": numpy.array([1, 1, height, width])}
    dims = f"float[1,1,{height - 2},{width - 2}]"
    return model(text, inputs=f"float[1,{height * width}] x", outputs=f"{dims} y", constants=constants)


def sparse_rows(height: int = 24, width: int = 6) -> bytes:
    """float32: nobody reads the last row, and when it comes the output has its place."""
    weights = numpy.random.default_rng(5).normal(size=(1, 1, 2, 2)).astype(numpy.float32)
    text = "a = Conv<pads = [1, 0, 0, 0], strides = [2, 2]>(x, w) y = Neg(a)"
    outputs = f"float[1,1,{height // 2},{width // 2}] y"
    return model(text, inputs=f"float[1,1,{height},{width}] x", outputs=outputs, constants={"w": weights})


def running_image(height: int = 16, width: int = 8) -> bytes:
    """float32, with a state: a running sum of what the image becomes."""
    weights = numpy.random.default_rng(3).normal(size=(2, 1, 3, 3)).astype(numpy.float32)
    text = (
        "a = Conv<pads = [1, 1, 1, 1], strides = [2, 2]>(x, w) b = Relu(a) c = Conv<pads = [0, 1, 0, 1]>(b, v) "
        "m = GlobalAveragePool(c) n = Add(s, m) y = Neg(n)"
    )
    second = numpy.random.default_rng(4).normal(size=(2, 2, 1, 3)).astype(numpy.float32)
    return model(
        text,
        inputs=f"float[1,1,{height},{width}] x, float[1,2,1,1] s",
        outputs="float[1,2,1,1] y, float[1,2,1,1] n",
        constants={"w": weights, "v": second},
    )


MAIN = """
#include "net.h"
#include <string.h>
#define ROWS NET_INPUT_ROWS
#define CHECK(condition) do { if (!(condition)) return __LINE__ > 255 ? 255 : __LINE__; } while (0)
static TYPE input[NET_INPUT_SIZE];
static TYPE wanted[NET_OUTPUT_SIZE], got[NET_OUTPUT_SIZE];
MEMORY
static uint32_t seed = 1;
static uint32_t drawn(uint32_t below) { seed = seed * 1664525u + 1013904223u; return (seed >> 8) % below; }
/* Rows that are gone after the call. */
static int pushed(int32_t first, int32_t count)
{
    static TYPE camera[NET_INPUT_SIZE];
    int code;
    memcpy(camera, (const uint8_t *)input + first * NET_INPUT_ROW_BYTES, (size_t)count * NET_INPUT_ROW_BYTES);
    code = net_push_input(SELF_ camera, count);
    memset(camera, 0x5a, sizeof camera);
    return code;
}
static int inference(void)
{
    int32_t done = 0;
    CHECK(net_push_input(SELF_ input, 1) == NET_ORDER && net_end(SELF) == NET_ORDER);
    BEGIN
    while (done < ROWS) {
        int32_t count = (int32_t)drawn(3) ? (int32_t)drawn(4) : (int32_t)drawn((uint32_t)(ROWS - done) + 1u);
        if (count > ROWS - done)
            count = ROWS - done;
        if (drawn(4) == 0) { /* what is refused changes nothing */
            CHECK(net_push_input(SELF_ input, ROWS - done + 1) == NET_ORDER);
            CHECK(net_push_input(SELF_ input, -1) == NET_ORDER);
            CHECK(net_push_input(SELF_ 0, 1) == NET_POINTER);
            CHECK(sizeof(TYPE) == 1 || net_push_input(SELF_ (TYPE *)((char *)input + 1), 1) == NET_POINTER);
            CHECK(net_end(SELF) == NET_ORDER);
            CHECK(RUN == NET_ORDER);
        }
        CHECK(pushed(done, count) == NET_OK);
        done += count;
    }
    CHECK(net_push_input(SELF_ input, 1) == NET_ORDER);
    CHECK(net_end(SELF) == NET_OK);
    CHECK(net_end(SELF) == NET_ORDER);
    TAKE
    return 0;
}
int main(void)
{
    int turn, code;
    INIT
    CHECK(ROWS * NET_INPUT_ROW_BYTES == sizeof input && NET_OK == 0 && NET_POINTER == 1 && NET_MORE == 2 && NET_ORDER == 3);
    for (turn = 0; turn < TURNS; turn++) {
        uint32_t index;
        for (index = 0; index < NET_INPUT_SIZE; index++)
            input[index] = (TYPE)((int32_t)drawn(255) - 127);
        memset(got, 1, sizeof got);
        RESET
        CHECK(RUN == NET_OK);
        TAKE
        memcpy(wanted, got, sizeof got);
        memset(got, 2, sizeof got);
        RESET
        if (turn % 3 == 1) { /* a frame that is given up */
            BEGIN
            CHECK(pushed(0, (int32_t)drawn(ROWS)) == NET_OK);
            net_cancel(SELF);
        }
        if ((code = inference()) != 0)
            return code;
        CHECK(memcmp(got, wanted, sizeof got) == 0);
    }
    return 0;
}
"""


def program(*, type_name: str, io: str = "caller", arena: str = "static", has_state: bool = False, turns: int = 12) -> str:
    """The main of a model `net` that compares pushes with net_run, and what is refused in between."""
    instance = arena == "caller"
    self, begin = ("&self" if instance else ""), []
    output = "got" if io == "caller" else ""
    arguments = [word for word in (self, output) if word]
    begin = f"CHECK(net_begin({', '.join(arguments)}) == NET_OK); CHECK(net_begin({', '.join(arguments)}) == NET_ORDER);"
    if io == "caller":
        begin = f"CHECK(net_begin({', '.join([*([self] if self else []), '0'])}) == NET_POINTER); {begin}"
    memory, init = memory_of_instance(has_state) if instance else ([], "")
    place = "NET_OUTPUT(arena.bytes)" if instance else "NET_OUTPUT"
    words = {
        "TYPE": type_name,
        "MEMORY": "\n".join(memory),
        "SELF_": f"{self}," if self else "",
        "SELF": self,
        "BEGIN": begin,
        "RUN": f"net_run({', '.join([*([self] if self else []), 'input', *([output] if output else [])])})",
        "TAKE": f"memcpy(got, {place}, sizeof got);" if io == "arena" else "",
        "INIT": init,
        "RESET": f"net_reset({self});" if has_state else "",
        "TURNS": str(turns),
    }
    return with_words(MAIN, words)


def with_words(text: str, words: dict[str, str]) -> str:
    """The text with other texts instead of these words, one after the other."""
    for word, value in words.items():
        text = replaced(text, word, value)
    return text


def replaced(text: str, word: str, value: str) -> str:
    """The text with this word, where it stands alone, as the value."""
    parts = text.split(word)
    joined = parts[0]
    for part in parts[1:]:
        is_word = not (joined[-1:].isalnum() or joined[-1:] == "_" or part[:1].isalnum() or part[:1] == "_")
        joined += (value if is_word else word) + part
    return joined


# Models, each of one layer, whose input cannot come and whose output cannot leave by rows, and the reason.
WITHOUT_ROWS = {
    "channels first": (
        model("y = Relu(x)", inputs="float[1,3,8,4] x", outputs="float[1,3,8,4] y"),
        "its rows are not contiguous: dims [1, 3, 8, 4], stored as nchw",
    ),
    "a batch": (
        model("y = Relu(x)", inputs="float[2,1,8,4] x", outputs="float[2,1,8,4] y"),
        "its rows are not contiguous: dims [2, 1, 8, 4]",
    ),
    "a vector": (
        model("y = Relu(x)", inputs="float[1,8] x", outputs="float[1,8] y"),
        "its rows are not contiguous: dims [1, 8]",
    ),
    "a layer without rows": (
        model("y = Softmax<axis=2>(x)", inputs="float[1,1,8,4] x", outputs="float[1,1,8,4] y"),
        "node 'Softmax_0' (Softmax) is computed from all of it, not by rows",
    ),
}
