/* SPDX-License-Identifier: 0BSD */
#include <stdint.h>
#include "shared/float_model.h"
#include "kit/inline.h"

/*
 * Frames of `taps` samples, one every `step`, with zeros up to the length of the transform; `points` complex points are
 * transformed, `bins` frequencies kept.
 */
typedef struct {
    int32_t rows, samples, frames, step, taps, points, bins;
} aidge_ref_fourier_shape;

/*
 * Passes of a transform in place: z[points] of real and imaginary parts, whose sub-transforms of `length` points become ones
 * of radix * length. roots: for each place the factors of the legs 1, 2, ...; each pass returns where the next one's begin.
 */

/* The first pass of radix 4: sub-transforms of one point, factors of 1. */
AIDGE_KIT_NOINLINE void aidge_ref_fourier_first4(float *z, int32_t points)
{
    const float *end = z + 2 * points;
    for (; z != end; z += 8) {
        const float sum_r = z[0] + z[4];
        const float sum_i = z[1] + z[5];
        const float gap_r = z[0] - z[4];
        const float gap_i = z[1] - z[5];
        const float odd_r = z[2] + z[6];
        const float odd_i = z[3] + z[7];
        const float turn_r = z[2] - z[6];
        const float turn_i = z[3] - z[7];
        z[0] = sum_r + odd_r;
        z[1] = sum_i + odd_i;
        z[2] = gap_r + turn_i;
        z[3] = gap_i - turn_r;
        z[4] = sum_r - odd_r;
        z[5] = sum_i - odd_i;
        z[6] = gap_r - turn_i;
        z[7] = gap_i + turn_r;
    }
}

AIDGE_KIT_NOINLINE const float *aidge_ref_fourier_4(float *z, const float *roots, int32_t points, int32_t length)
{
    const float *end = z + 2 * points;
    int32_t place;
    for (place = 0; place < length; place++) {
        const float c1 = roots[0];
        const float s1 = roots[1];
        const float c2 = roots[2];
        const float s2 = roots[3];
        const float c3 = roots[4];
        const float s3 = roots[5];
        float *a = z + 2 * place;
        do {
            float *b = a + 2 * length;
            float *c = b + 2 * length;
            float *d = c + 2 * length;
            const float b_r = b[0] * c1 - b[1] * s1;
            const float b_i = b[0] * s1 + b[1] * c1;
            const float c_r = c[0] * c2 - c[1] * s2;
            const float c_i = c[0] * s2 + c[1] * c2;
            const float d_r = d[0] * c3 - d[1] * s3;
            const float d_i = d[0] * s3 + d[1] * c3;
            const float sum_r = a[0] + c_r;
            const float sum_i = a[1] + c_i;
            const float gap_r = a[0] - c_r;
            const float gap_i = a[1] - c_i;
            const float odd_r = b_r + d_r;
            const float odd_i = b_i + d_i;
            const float turn_r = b_r - d_r;
            const float turn_i = b_i - d_i;
            a[0] = sum_r + odd_r;
            a[1] = sum_i + odd_i;
            b[0] = gap_r + turn_i;
            b[1] = gap_i - turn_r;
            c[0] = sum_r - odd_r;
            c[1] = sum_i - odd_i;
            d[0] = gap_r - turn_i;
            d[1] = gap_i + turn_r;
            a = d + 2 * length;
        } while (a < end);
        roots += 6;
    }
    return roots;
}

AIDGE_KIT_NOINLINE const float *aidge_ref_fourier_2(float *z, const float *roots, int32_t points, int32_t length)
{
    const float *end = z + 2 * points;
    int32_t place;
    for (place = 0; place < length; place++) {
        const float c1 = roots[0];
        const float s1 = roots[1];
        float *a = z + 2 * place;
        do {
            float *b = a + 2 * length;
            const float b_r = b[0] * c1 - b[1] * s1;
            const float b_i = b[0] * s1 + b[1] * c1;
            b[0] = a[0] - b_r;
            b[1] = a[1] - b_i;
            a[0] += b_r;
            a[1] += b_i;
            a = b + 2 * length;
        } while (a < end);
        roots += 2;
    }
    return roots;
}

AIDGE_KIT_NOINLINE const float *aidge_ref_fourier_3(float *z, const float *roots, int32_t points, int32_t length)
{
    const float height = 0.86602540378443865f; /* sin(2 pi / 3) */
    const float *end = z + 2 * points;
    int32_t place;
    for (place = 0; place < length; place++) {
        float *a = z + 2 * place;
        do {
            float *b = a + 2 * length;
            float *c = b + 2 * length;
            const float b_r = b[0] * roots[0] - b[1] * roots[1];
            const float b_i = b[0] * roots[1] + b[1] * roots[0];
            const float c_r = c[0] * roots[2] - c[1] * roots[3];
            const float c_i = c[0] * roots[3] + c[1] * roots[2];
            const float sum_r = b_r + c_r;
            const float sum_i = b_i + c_i;
            const float turn_r = height * (b_i - c_i);
            const float turn_i = height * (c_r - b_r);
            const float middle_r = a[0] - 0.5f * sum_r;
            const float middle_i = a[1] - 0.5f * sum_i;
            a[0] += sum_r;
            a[1] += sum_i;
            b[0] = middle_r + turn_r;
            b[1] = middle_i + turn_i;
            c[0] = middle_r - turn_r;
            c[1] = middle_i - turn_i;
            a = c + 2 * length;
        } while (a < end);
        roots += 4;
    }
    return roots;
}

/* The product of a point with a factor. */
#define AIDGE_REF_FOURIER_TURNED(r, i, point, root)            \
    const float r = (point)[0] * (root)[0] - (point)[1] * (root)[1]; \
    const float i = (point)[0] * (root)[1] + (point)[1] * (root)[0]

AIDGE_KIT_NOINLINE const float *aidge_ref_fourier_5(float *z, const float *roots, int32_t points, int32_t length)
{
    const float near = 0.30901699437494742f; /* cos and sin of 2 pi / 5 and 4 pi / 5 */
    const float far = -0.80901699437494742f;
    const float high = 0.95105651629515357f;
    const float low = 0.58778525229247313f;
    const float *end = z + 2 * points;
    int32_t place;
    for (place = 0; place < length; place++) {
        float *a = z + 2 * place;
        do {
            float *b = a + 2 * length;
            float *c = b + 2 * length;
            float *d = c + 2 * length;
            float *e = d + 2 * length;
            AIDGE_REF_FOURIER_TURNED(b_r, b_i, b, roots);
            AIDGE_REF_FOURIER_TURNED(c_r, c_i, c, roots + 2);
            AIDGE_REF_FOURIER_TURNED(d_r, d_i, d, roots + 4);
            AIDGE_REF_FOURIER_TURNED(e_r, e_i, e, roots + 6);
            const float outer_r = b_r + e_r;
            const float outer_i = b_i + e_i;
            const float inner_r = c_r + d_r;
            const float inner_i = c_i + d_i;
            const float across_r = b_r - e_r;
            const float across_i = b_i - e_i;
            const float along_r = c_r - d_r;
            const float along_i = c_i - d_i;
            const float first_r = a[0] + near * outer_r + far * inner_r;
            const float first_i = a[1] + near * outer_i + far * inner_i;
            const float second_r = a[0] + far * outer_r + near * inner_r;
            const float second_i = a[1] + far * outer_i + near * inner_i;
            const float turn_r = high * across_i + low * along_i;
            const float turn_i = high * across_r + low * along_r;
            const float twist_r = low * across_i - high * along_i;
            const float twist_i = low * across_r - high * along_r;
            a[0] += outer_r + inner_r;
            a[1] += outer_i + inner_i;
            b[0] = first_r + turn_r;
            b[1] = first_i - turn_i;
            c[0] = second_r + twist_r;
            c[1] = second_i - twist_i;
            d[0] = second_r - twist_r;
            d[1] = second_i + twist_i;
            e[0] = first_r - turn_r;
            e[1] = first_i + turn_i;
            a = e + 2 * length;
        } while (a < end);
        roots += 8;
    }
    return roots;
}

/* Any other prime: one product for each pair of legs. roots: the `radix` roots of 1 first. legs: room for `radix` points. */
AIDGE_KIT_NOINLINE const float *aidge_ref_fourier_prime(float *z, const float *roots, float *legs, int32_t points, int32_t length,
                                                        int32_t radix)
{
    const float *waves = roots;
    const float *end = z + 2 * points;
    int32_t place, leg, other;
    roots += 2 * radix;
    for (place = 0; place < length; place++) {
        float *a = z + 2 * place;
        for (; a < end; a += 2 * radix * length) {
            legs[0] = a[0];
            legs[1] = a[1];
            for (leg = 1; leg < radix; leg++) {
                const float *point = a + 2 * leg * length;
                AIDGE_REF_FOURIER_TURNED(r, i, point, roots + 2 * leg - 2);
                legs[2 * leg] = r;
                legs[2 * leg + 1] = i;
            }
            for (leg = 0; leg < radix; leg++) {
                float sum_r = legs[0];
                float sum_i = legs[1];
                int32_t turn = 0;
                for (other = 1; other < radix; other++) {
                    turn += leg;
                    turn -= turn >= radix ? radix : 0;
                    AIDGE_REF_FOURIER_TURNED(r, i, legs + 2 * other, waves + 2 * turn);
                    sum_r += r;
                    sum_i += i;
                }
                a[2 * leg * length] = sum_r;
                a[2 * leg * length + 1] = sum_i;
            }
        }
        roots += 2 * radix - 2;
    }
    return roots;
}

/* Pairs of neighbouring samples as points, in the order of reversed digits; zeros behind the frame. window: 0 for none. */
AIDGE_KIT_NOINLINE void aidge_ref_fourier_load(const float *frame, const float *window, float *z, const uint16_t *order,
                                               int32_t taps, int32_t points)
{
    const float *end = z + 2 * points;
    for (; z != end; z += 2) {
        const int32_t first = 2 * (int32_t)*order++;
        if (first + 1 < taps) {
            z[0] = window ? frame[first] * window[first] : frame[first];
            z[1] = window ? frame[first + 1] * window[first + 1] : frame[first + 1];
        } else {
            z[0] = first < taps ? (window ? frame[first] * window[first] : frame[first]) : 0.0f;
            z[1] = 0.0f;
        }
    }
}

/* The spectrum of 2 * points real values in the place of that of `points` complex ones: one frequency more. */
AIDGE_KIT_NOINLINE void aidge_ref_fourier_part(float *z, const float *apart, int32_t points)
{
    float *low = z + 2;
    float *high = z + 2 * points - 2;
    const float both = z[0];
    z[0] = both + z[1];
    z[2 * points] = both - z[1];
    z[1] = 0.0f;
    z[2 * points + 1] = 0.0f;
    for (; low < high; low += 2, high -= 2) {
        const float even_r = 0.5f * (low[0] + high[0]);
        const float even_i = 0.5f * (low[1] - high[1]);
        const float gap_r = low[0] - high[0];
        const float gap_i = low[1] + high[1];
        const float odd_r = gap_r * apart[0] - gap_i * apart[1];
        const float odd_i = gap_r * apart[1] + gap_i * apart[0];
        low[0] = even_r + odd_r;
        low[1] = even_i + odd_i;
        high[0] = even_r - odd_r;
        high[1] = odd_i - even_i;
        apart += 2;
    }
    if (low == high) {
        low[1] = -low[1];
    }
}

/* The frequencies above half the sampling rate: those below, conjugated. */
static inline void aidge_ref_fourier_mirror(float *z, int32_t length)
{
    const float *from = z + 2;
    float *to = z + 2 * length - 2;
    for (; from < to; from += 2, to -= 2) {
        to[0] = from[0];
        to[1] = -from[1];
    }
}

/* Frames of an odd length: real values as complex points. */
AIDGE_KIT_NOINLINE void aidge_ref_fourier_load_odd(const float *frame, const float *window, float *z, const uint16_t *order,
                                                   int32_t taps, int32_t points)
{
    const float *end = z + 2 * points;
    for (; z != end; z += 2) {
        const int32_t at = *order++;
        z[0] = at < taps ? (window ? frame[at] * window[at] : frame[at]) : 0.0f;
        z[1] = 0.0f;
    }
}

/* Complex rows; real and imaginary part change places for the inverse transform. */
AIDGE_KIT_NOINLINE void aidge_ref_fourier_load_complex(const float *row, float *z, const uint16_t *order, int32_t taps,
                                                       int32_t points, int32_t swap)
{
    const float *end = z + 2 * points;
    for (; z != end; z += 2) {
        const int32_t at = *order++;
        z[0] = at < taps ? row[2 * at + swap] : 0.0f;
        z[1] = at < taps ? row[2 * at + 1 - swap] : 0.0f;
    }
}

/* Back from the places changed, divided by the number of points. */
static inline void aidge_ref_fourier_swap(float *z, int32_t points)
{
    const float *end = z + 2 * points;
    const float share = 1.0f / (float)points;
    for (; z != end; z += 2) {
        const float real = z[1] * share;
        z[1] = z[0] * share;
        z[0] = real;
    }
}
