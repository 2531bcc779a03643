/* SPDX-License-Identifier: 0BSD */
#include <math.h>
#include <string.h>
#include "inline.h"
#include "multiply_add.h"
#include "recurrent.h"

/* A stream of weights: the begins of its parts, the end of the last part, and the step to the next direction, in elements. */
typedef struct {
    int32_t starts[4], step;
} aidge_kit_recurrent_stream;

/*
 * shift + value * P(value^2) / Q(value^2), value limited to +-limit before. numbers: the `terms` coefficients of P, those of Q
 * without its first one, which is 1 (`terms` - 1), shift, limit (kernel_kit/curves.py). NaN stays NaN.
 */
AIDGE_KIT_INLINE float aidge_kit_curve_value(float value, const float *numbers, int32_t terms)
{
    const float limit = numbers[2 * terms];
    const float limited = value > limit ? limit : value < -limit ? -limit : value;
    const float square = aidge_kit_exact(limited * limited);
    float p = numbers[0];
    float q = square + numbers[terms];
    int32_t i;
    for (i = 1; i < terms; i++) {
        p = aidge_kit_multiply_add(p, square, numbers[i]);
    }
    for (i = terms + 1; i < 2 * terms - 1; i++) {
        q = aidge_kit_multiply_add(q, square, numbers[i]);
    }
    return numbers[2 * terms - 1] + aidge_kit_exact_quotient(aidge_kit_exact(limited * p), q);
}

/* Values in place: tanh or the logistic function. */
AIDGE_KIT_INLINE void aidge_kit_curve_of_5(float *values, int32_t count, const float *numbers)
{
    for (; count > 0; count--) {
        *values = aidge_kit_curve_value(*values, numbers, 5);
        values++;
    }
}

/* The same of a longer curve. */
AIDGE_KIT_INLINE void aidge_kit_curve_of_6(float *values, int32_t count, const float *numbers)
{
    for (; count > 0; count--) {
        *values = aidge_kit_curve_value(*values, numbers, 6);
        values++;
    }
}

/* The pointer as if it were another one: what is computed from it does not wait on the stack from one step to the next. */
AIDGE_KIT_INLINE float *aidge_kit_again(float *pointer)
{
#if defined(__GNUC__) && !defined(AIDGE_WITHOUT_ASSEMBLY)
    __asm__ volatile("" : "+r"(pointer));
#endif
    return pointer;
}

/* Floats that do not overlap. */
AIDGE_KIT_INLINE void aidge_kit_copy_floats(float *to, const float *from, int32_t count)
{
    (void)memcpy(to, from, (uint32_t)count * sizeof *to);
}

/* Negative values become 0; NaN stays it. */
AIDGE_KIT_NOINLINE void aidge_kit_gate_rectify(float *values, int32_t count)
{
    for (; count > 0; count--) {
        *values = *values < 0.0f ? 0.0f : *values;
        values++;
    }
}

/* Values within +-limit. */
AIDGE_KIT_NOINLINE void aidge_kit_gate_clip(float *values, int32_t count, float limit)
{
    for (; count > 0; count--) {
        *values = *values > limit ? limit : *values < -limit ? -limit : *values;
        values++;
    }
}

/* The state before the first element of a sequence. */
AIDGE_KIT_NOINLINE void aidge_kit_first_state(float *state, const float *given, int32_t place, int32_t hidden)
{
    if (given != NULL) {
        (void)memcpy(state, given + place, (uint32_t)hidden * sizeof *state);
    } else {
        (void)memset(state, 0, (uint32_t)hidden * sizeof *state);
    }
}

/* Behind the end of a sequence the output is 0. */
AIDGE_KIT_NOINLINE void aidge_kit_no_outputs(float *out, int32_t t, const aidge_kit_recurrent_shape *shape)
{
    for (; t < shape->steps; t++) {
        (void)memset(out + t * shape->y_time, 0, (uint32_t)shape->hidden * sizeof *out);
    }
}

/* Gates i, o, f, n: c = f c + i n, and n = c. */
AIDGE_KIT_NOINLINE void aidge_kit_lstm_cell(float *gates, float *c, int32_t hidden)
{
    float *f = gates + 2 * hidden;
    float *n = f + hidden;
    int32_t left;
    for (left = hidden; left > 0; left--) {
        *c = *f++ * *c + *gates++ * *n;
        *n++ = *c++;
    }
}

/* product = a b */
AIDGE_KIT_NOINLINE void aidge_kit_gate_products(float *product, const float *a, const float *b, int32_t count)
{
    for (; count > 0; count--) {
        *product++ = *a++ * *b++;
    }
}

/* a = a + b */
AIDGE_KIT_NOINLINE void aidge_kit_gate_sums(float *a, const float *b, int32_t count)
{
    for (; count > 0; count--) {
        *a++ += *b++;
    }
}

/* a = a + b factor */
AIDGE_KIT_NOINLINE void aidge_kit_gate_multiples(float *a, const float *b, const float *factor, int32_t count)
{
    for (; count > 0; count--) {
        *a++ += *b++ * *factor++;
    }
}

/* h = (1 - z) n + z h */
AIDGE_KIT_NOINLINE void aidge_kit_gru_state(float *h, const float *z, const float *n, int32_t hidden)
{
    for (; hidden > 0; hidden--) {
        *h = (1.0f - *z) * *n++ + *z * *h;
        z++;
        h++;
    }
}
