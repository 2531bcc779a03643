/* SPDX-License-Identifier: 0BSD */
#include "double/elements.h"

/* Steps in elements: of the data and of the output, from one step in time to the next and from one sequence to the next. */
typedef struct {
    int32_t batches, steps, inputs, units;
    int32_t in_time, in_batch, out_time, out_batch;
} aidge_ref_lstm_shape;

/* Sigmoid and tanh in 16-bit fixed point (arithmetic/fixed_activations.py); k integer bits: in units of 2^(k - 15). */

static inline int32_t aidge_ref_product_q15(int32_t first, int32_t second)
{
    const int32_t product = (first * second + 0x4000) >> 15;
    return product > 32767 ? 32767 : product;
}

static inline int32_t aidge_ref_widened_q15(int32_t value, int32_t bits)
{
    return aidge_ref_between_double(value * ((int32_t)1 << bits), -32768, 32767);
}

/* e^x of x <= 0. */
static int32_t aidge_ref_exponential_q15(int32_t value, int32_t integer_bits)
{
    static const int16_t factors[7] = {25520, 19875, 12055, 4435, 600, 11, 0}; /* e^-(2^digit), digit = -2..4 */
    const int32_t fraction = 15 - integer_bits;
    const int32_t quarter = ((int32_t)1 << fraction) >> 2;
    const int32_t rest = (value & (quarter - 1)) - quarter;
    const int32_t above = rest - value;
    const int32_t x = aidge_ref_widened_q15(rest, integer_bits) + 0x1000;
    const int32_t square = aidge_ref_product_q15(x, x);
    const int32_t cube = aidge_ref_product_q15(square, x);
    const int32_t fourth = aidge_kit_shift_away(aidge_ref_product_q15(square, square), 2);
    const int32_t terms = aidge_kit_shift_away(aidge_ref_product_q15(fourth + cube, 10923) + square, 1);
    int32_t result = aidge_ref_between_double(28918 + aidge_ref_product_q15(28918, x + terms), -32768, 32767);
    int32_t digit;
    for (digit = -2; (digit < integer_bits) && (digit <= 4); digit++) {
        if (((above >> (fraction + digit)) & 1) != 0) {
            result = aidge_ref_product_q15(result, factors[digit + 2]);
        }
    }
    if ((integer_bits > 5) && (value < -((int32_t)1 << (fraction + 5)))) {
        result = 0;
    }
    return value == 0 ? 32767 : result;
}

/* 2 / (1 + x) of 0 <= x <= 1, in units of 2^-13. */
static int32_t aidge_ref_quotient_q15(int32_t value)
{
    const int32_t half = (value + 32768) >> 1;
    int32_t x = 23130 + aidge_ref_product_q15(half, -15420);
    int32_t step;
    for (step = 0; step < 3; step++) {
        x += aidge_ref_widened_q15(aidge_ref_product_q15(x, 0x2000 - aidge_ref_product_q15(half, x)), 2);
    }
    return x;
}

/* The logistic function of a value with 3 integer bits. */
static int32_t aidge_ref_logistic_q15(int32_t value)
{
    const int32_t size = value < 0 ? -value : value;
    const int32_t above = aidge_ref_widened_q15(aidge_ref_quotient_q15(aidge_ref_exponential_q15(-size, 3)), 1);
    return value > 0 ? above : value < 0 ? 32767 - above : 0x4000;
}

static int32_t aidge_ref_tanh_q15(int32_t value, int32_t integer_bits)
{
    const int32_t size = value < 0 ? -value : value;
    const int32_t quotient = aidge_ref_quotient_q15(aidge_ref_exponential_q15(-size, integer_bits + 1));
    const int32_t above = aidge_ref_widened_q15(quotient - 0x2000, 2);
    return value > 0 ? above : value < 0 ? -above : 0;
}

/* bias + sum of x * w, requantized by factor {multiplier, shift}. */
static int32_t aidge_ref_gate_double(const int8_t *x, const int8_t *w, int32_t count, int32_t bias, const int32_t *factor)
{
    int32_t sum = bias;
    int32_t i;
    for (i = 0; i < count; i++) {
        sum += x[i] * w[i];
    }
    return aidge_kit_scale_fixed(sum, factor[0], factor[1]);
}

/*
 * LSTM: int8 data, hidden values and weights, a cell of int16. `next` may be `cell`; rows of the output are hidden values.
 *
 * weights: [4 * units][inputs], recurrence: [4 * units][units], in the order input, forget, cell, output gate; biases: of the
 * products with data, [4 * units], then of those with hidden values, less the zero points' part; numbers: {multiplier, shift} of
 * data for 4 gates, of hidden values for 4 gates, of results; {zero point of results, shift of new values, integer bits of the
 * cell, its bound or 0}.
 * Ranges: the generator has proved that no sum leaves int32, also shifted to the left.
 */
static void aidge_ref_lstm_double(const int8_t *input, const int8_t *hidden, const int16_t *cell, int16_t *next, int8_t *output,
                                  const int8_t *weights, const int8_t *recurrence, const int32_t *biases, const int32_t *numbers,
                                  const aidge_ref_lstm_shape *shape)
{
    const int32_t units = shape->units;
    int32_t batch, step, unit, gate;
    for (batch = 0; batch < shape->batches; batch++) {
        const int8_t *x = input + batch * shape->in_batch;
        const int8_t *before = hidden + batch * units;
        const int16_t *kept = cell + batch * units;
        int16_t *after = next + batch * units;
        int8_t *y = output + batch * shape->out_batch;
        for (step = 0; step < shape->steps; step++) {
            for (unit = 0; unit < units; unit++) {
                int32_t gates[4];
                int32_t value;
                for (gate = 0; gate < 4; gate++) {
                    const int32_t row = gate * units + unit;
                    int32_t level = aidge_ref_gate_double(x, weights + row * shape->inputs, shape->inputs, biases[row],
                                                          numbers + 2 * gate);
                    level = aidge_ref_between_double(level, -32768, 32767);
                    level += aidge_ref_gate_double(before, recurrence + row * units, units, biases[4 * units + row],
                                                   numbers + 8 + 2 * gate);
                    level = aidge_ref_between_double(level, -32768, 32767);
                    gates[gate] = gate == 2 ? aidge_ref_tanh_q15(level, 3) : aidge_ref_logistic_q15(level);
                }
                value = aidge_kit_shift_away(gates[1] * kept[unit], 15) + aidge_kit_shift_away(gates[0] * gates[2], numbers[19]);
                value = aidge_ref_between_double(value, -32768, 32767);
                value = numbers[21] != 0 ? aidge_ref_between_double(value, -numbers[21], numbers[21]) : value;
                after[unit] = (int16_t)value;
                value = aidge_kit_scale_fixed(gates[3] * aidge_ref_tanh_q15(value, numbers[20]), numbers[16], numbers[17]);
                y[unit] = (int8_t)aidge_ref_between_double(value + numbers[18], -128, 127);
            }
            before = y;
            kept = after;
            x += shape->in_time;
            y += shape->out_time;
        }
    }
}
