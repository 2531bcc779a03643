# SPDX-License-Identifier: MIT
"""Small models whose output can leave by rows, random ones, too, and a program that pulls rows in every number and order."""

from __future__ import annotations

import numpy

from tests.instances import memory_of_instance
from tests.models import model
from tests.row_models import quantized, with_words


def upscaler(height: int = 11, width: int = 8, seed: int = 6) -> bytes:
    """int8, as super resolution: convolutions, the rows twice, an output of four times the pixels."""
    random = numpy.random.default_rng(seed)
    text = [
        "d_x = DequantizeLinear(x, scale, zero)",
        *(f"d_w{index} = DequantizeLinear(w{index}, weight_scale, zero)" for index in range(3)),
        quantized("a", "Conv<pads = [1, 1, 1, 1]>(d_x, d_w0)"),
        quantized("b", "Conv<pads = [1, 1, 1, 1]>(d_a, d_w1)"),
        'r = Resize<mode = "nearest", coordinate_transformation_mode = "asymmetric", nearest_mode = "floor">(b, , twice)',
        "d_r = DequantizeLinear(r, scale, zero)",
        "f_y = Conv<pads = [1, 1, 1, 1]>(d_r, d_w2) y = QuantizeLinear(f_y, scale, zero)",
    ]
    shapes = [(8, 1, 3, 3), (8, 8, 3, 3), (1, 8, 3, 3)]
    constants = {f"w{index}": random.integers(-127, 128, shape).astype(numpy.int8) for index, shape in enumerate(shapes)}
    constants |= {"scale": numpy.float32(1 / 32), "zero": numpy.int8(0), "weight_scale": numpy.float32(1 / 400)}
    constants |= {"twice": numpy.array([1, 1, 2, 2], numpy.float32)}
    dims = f"int8[1,1,{2 * height},{2 * width}] y"
    return model(" ".join(text), inputs=f"int8[1,1,{height},{width}] x", outputs=dims, constants=constants)


def segmenter(height: int = 16, width: int = 8, seed: int = 7) -> bytes:
    """float32, as a U-Net: down, a layer that needs all rows in the middle, up, and a skip that waits for the way up."""
    random = numpy.random.default_rng(seed)
    text = (
        "a = Conv<pads = [1, 1, 1, 1]>(x, w0) b = Relu(a) p = MaxPool<kernel_shape = [2, 2], strides = [2, 2]>(b) "
        "m = GlobalAveragePool(p) c = Mul(p, m) d = Conv<pads = [1, 1, 1, 1]>(c, w1) "
        'u = Resize<mode = "nearest", coordinate_transformation_mode = "asymmetric", nearest_mode = "floor">(d, , twice) '
        "s = Add(b, u) y = Conv<pads = [1, 1, 1, 1]>(s, w2)"
    )
    shapes = {"w0": (2, 1, 3, 3), "w1": (2, 2, 3, 3), "w2": (1, 2, 3, 3)}
    constants = {name: random.normal(size=shape).astype(numpy.float32) for name, shape in shapes.items()}
    constants["twice"] = numpy.array([1, 1, 2, 2], numpy.float32)
    dims = f"float[1,1,{height},{width}]"
    return model(text, inputs=f"{dims} x", outputs=f"{dims} y", constants=constants)


def remembering(height: int = 12, width: int = 6) -> bytes:
    """float32, with a state that is read before the rows leave and written behind them."""
    weights = numpy.random.default_rng(8).normal(size=(1, 1, 3, 3)).astype(numpy.float32)
    text = "a = Add(x, s) b = Conv<pads = [1, 1, 1, 1]>(a, w) c = Relu(b) y = Conv<pads = [1, 1, 1, 1]>(c, w) "
    text += "n = GlobalAveragePool(c)"
    dims = f"float[1,1,{height},{width}]"
    outputs = f"{dims} y, float[1,1,1,1] n"
    return model(text, inputs=f"{dims} x, float[1,1,1,1] s", outputs=outputs, constants={"w": weights})


def scaled(height: int = 10, width: int = 6) -> bytes:
    """float32, with a state whose next value is known, and needed, before the first row leaves, and stored when all are gone."""
    text = "m = GlobalAveragePool(x) n = Add(s, m) a = Mul(x, n) y = Relu(a)"
    dims = f"float[1,1,{height},{width}]"
    return model(text, inputs=f"{dims} x, float[1,1,1,1] s", outputs=f"{dims} y, float[1,1,1,1] n")


def random_filter(seed: int) -> bytes:
    """float32: a chain of windows, strides, pools, skips and repeated rows, drawn by `seed`, of one channel at both ends."""
    random = numpy.random.default_rng(seed)
    height, width, channels = int(random.integers(8, 24)), int(random.integers(3, 9)), 1
    first = (height, width)
    constants, text, name = {"twice": numpy.array([1, 1, 2, 2], numpy.float32)}, [], "x"
    for number in range(int(random.integers(2, 7))):
        kind, target = random.integers(0, 6), f"t{number}"
        if kind <= 1 or number == 0:
            rows, stride = int(random.choice([1, 3, 5])), int(random.choice([1, 1, 2]))
            made, pad = int(random.integers(1, 4)), rows // 2
            constants[f"w{number}"] = random.normal(size=(made, channels, rows, 3)).astype(numpy.float32)
            pads = f"pads = [{pad}, 1, {pad}, 1], strides = [{stride}, 1]"
            text.append(f"{target} = Conv<{pads}>({name}, w{number})")
            height, channels = -(-height // stride), made
        elif kind == 2 and height >= 4:
            text.append(f"{target} = MaxPool<kernel_shape = [2, 1], strides = [2, 1]>({name})")
            height //= 2
        elif kind == 3:
            places = 'mode = "nearest", coordinate_transformation_mode = "asymmetric", nearest_mode = "floor"'
            text.append(f"{target} = Resize<{places}>({name}, , twice)")
            height, width = 2 * height, 2 * width
        elif kind == 4:
            constants[f"w{number}"] = random.normal(size=(channels, channels, 3, 1)).astype(numpy.float32)
            text.append(f"{target}_c = Conv<pads = [1, 0, 1, 0]>({name}, w{number}) {target} = Add({target}_c, {name})")
        else:
            text.append(f"{target} = LeakyRelu({name})")
        name = target
    constants["last"] = random.normal(size=(1, channels, 3, 3)).astype(numpy.float32)
    text.append(f"y = Conv<pads = [1, 1, 1, 1]>({name}, last)")
    inputs = f"float[1,1,{first[0]},{first[1]}] x"
    return model(" ".join(text), inputs=inputs, outputs=f"float[1,1,{height},{width}] y", constants=constants)


MAIN = """
#include "net.h"
#include <string.h>
#define ROWS NET_OUTPUT_ROWS
#define CHECK(condition) do { if (!(condition)) return __LINE__ > 255 ? 255 : __LINE__; } while (0)
static TYPE input[NET_INPUT_SIZE], whole[NET_INPUT_SIZE];
static TYPE wanted[NET_OUTPUT_SIZE], got[NET_OUTPUT_SIZE + 1];
MEMORY
static uint32_t seed = 1;
static uint32_t drawn(uint32_t below) { seed = seed * 1664525u + 1013904223u; return (seed >> 8) % below; }
static int32_t came, gone; /* rows */
static TYPE *place(int32_t row) { return (TYPE *)(void *)((uint8_t *)got + row * NET_OUTPUT_ROW_BYTES); }
/* What is refused changes nothing. */
static int refused(void)
{
    CHECK(net_pull_output(SELF_ got, ROWS - gone + 1) == NET_ORDER && net_pull_output(SELF_ got, -1) == NET_ORDER);
    CHECK(net_pull_output(SELF_ 0, 1) == NET_POINTER);
    CHECK(sizeof(TYPE) == 1 || net_pull_output(SELF_ (TYPE *)(void *)((char *)got + 1), 1) == NET_POINTER);
    CHECK(gone == ROWS || net_end(SELF) == NET_ORDER);
    CHECK(RUN(got) == NET_ORDER);
    return 0;
}
#ifdef NET_INPUT_ROWS
/* Rows that are gone after the call; the number of those that were taken, once it says so. */
static int pushed(int32_t count)
{
    static TYPE camera[NET_INPUT_SIZE];
    int code;
    memcpy(camera, (const uint8_t *)input + came * NET_INPUT_ROW_BYTES, (size_t)(count * NET_INPUT_ROW_BYTES));
    code = net_push_input(SELF_ camera, count);
    memset(camera, 0x5a, sizeof camera);
    if (code == NET_OK)
        came += count;
    return code;
}
#endif
static int inference(int cancelled)
{
    int32_t pulling = 0; /* what is to be repeated */
#ifdef NET_INPUT_ROWS
    int32_t pushing = 0;
#endif
    came = gone = 0;
    CHECK(net_pull_output(SELF_ got, 1) == NET_ORDER && net_end(SELF) == NET_ORDER);
    BEGIN
    while (gone < ROWS) {
        int code;
        if (cancelled && gone > ROWS / 2) {
            net_cancel(SELF);
            return 0;
        }
#ifdef NET_INPUT_ROWS
        if (came < NET_INPUT_ROWS && (pushing || drawn(2))) {
            int32_t count = pushing ? pushing : (int32_t)drawn(4);
            if (count > NET_INPUT_ROWS - came)
                count = NET_INPUT_ROWS - came;
            code = pushed(count);
            CHECK(code == NET_OK || code == NET_MORE);
            pushing = code == NET_MORE ? count : 0;
        }
#endif
        if (!pulling)
            pulling = drawn(3) ? (int32_t)drawn(3) : (int32_t)drawn((uint32_t)(ROWS - gone) + 1u);
        if (pulling > ROWS - gone)
            pulling = ROWS - gone;
        if (drawn(4) == 0)
            CHECK(refused() == 0);
        code = net_pull_output(SELF_ place(gone), pulling);
        if (code == NET_OK) {
            gone += pulling;
            pulling = 0;
        }
#ifdef NET_INPUT_ROWS
        CHECK(code == NET_OK || (code == NET_MORE && came < NET_INPUT_ROWS));
#else
        CHECK(code == NET_OK);
#endif
    }
    CHECK(net_pull_output(SELF_ got, 1) == NET_ORDER);
#ifdef NET_INPUT_ROWS
    while (came < NET_INPUT_ROWS) {
        CHECK(net_end(SELF) == NET_ORDER);
        CHECK(pushed(pushing ? pushing : 1) == NET_OK);
        pushing = 0;
    }
#endif
    CHECK(net_end(SELF) == NET_OK);
    CHECK(net_end(SELF) == NET_ORDER);
    return 0;
}
int main(void)
{
    int turn, code;
    (void)whole;
    INIT
    CHECK(ROWS * NET_OUTPUT_ROW_BYTES == sizeof wanted);
    for (turn = 0; turn < TURNS; turn++) {
        uint32_t index;
        for (index = 0; index < NET_INPUT_SIZE; index++)
            input[index] = (TYPE)((int32_t)drawn(255) - 127);
        RESET
        FILL
        CHECK(RUN(wanted) == NET_OK);
        RESET
        if (turn % 3 == 1) { /* a frame that is given up: a state stays as it was */
            FILL
            if ((code = inference(1)) != 0)
                return code;
        }
        memset(got, 2, sizeof got);
        FILL
        if ((code = inference(0)) != 0)
            return code;
        CHECK(memcmp(got, wanted, sizeof wanted) == 0);
    }
    return 0;
}
"""


def pulling_program(
    *, type_name: str, io: str = "caller", arena: str = "static", by_rows: bool = False, has_state: bool = False, turns: int = 12
) -> str:
    """The main of a model `net` that compares pulls with net_run. `by_rows`: its input comes by rows, too."""
    instance = arena == "caller"
    self, given = ("&self" if instance else ""), "whole" if io == "caller" and not by_rows else ""
    arguments = ", ".join(word for word in (self, given) if word)
    begin = f"CHECK(net_begin({arguments}) == NET_OK); CHECK(net_begin({arguments}) == NET_ORDER);"
    if given:
        begin = f"CHECK(net_begin({', '.join([*([self] if self else []), '0'])}) == NET_POINTER); {begin}"
    memory, init = memory_of_instance(has_state) if instance else ([], "")
    place = "whole" if io == "caller" or by_rows else "NET_INPUT(arena.bytes)" if instance else "NET_INPUT"
    passed = [word for word in (self, "input" if by_rows else given) if word]
    memory.append(f"#define NET_RUN(to) net_run({', '.join([*passed, '(to)'])})")
    words = {
        "TYPE": type_name,
        "MEMORY": "\n".join(memory),
        "SELF_": f"{self}," if self else "",
        "SELF": self,
        "BEGIN": begin,
        "RUN": "NET_RUN",
        "FILL": f"memcpy({place}, input, sizeof input);",
        "INIT": init,
        "RESET": f"net_reset({self});" if has_state else "",
        "TURNS": str(turns),
    }
    return with_words(MAIN, words)
