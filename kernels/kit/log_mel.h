/* SPDX-License-Identifier: 0BSD */
#include <stdint.h>
#include "kit/inline.h"
#include "kit/wide.h"

/*
 * The fixed-point audio front end: int32 spectra, powers in bands, logarithms. The meaning of each step is stated in
 * docs/frontend.md and in aidge_build/operators/arithmetic/log_mel.py, with the same integers.
 *
 * Roots of 1 are words: the cosine in the low half, minus the sine in the high half, in units of 2^-15.
 */
#if defined(__GNUC__) && defined(__arm__) && defined(__thumb2__) && defined(__ARM_FEATURE_DSP)
/* floor(value * low half / 2^16), and the same with the high half; sums are added after rounding down. */
AIDGE_KIT_INLINE int32_t aidge_kit_times_low(int32_t value, uint32_t root)
{
    int32_t product;
    __asm__("smulwb %0, %1, %2" : "=r"(product) : "r"(value), "r"(root));
    return product;
}

AIDGE_KIT_INLINE int32_t aidge_kit_times_high(int32_t value, uint32_t root)
{
    int32_t product;
    __asm__("smulwt %0, %1, %2" : "=r"(product) : "r"(value), "r"(root));
    return product;
}

AIDGE_KIT_INLINE int32_t aidge_kit_add_times_low(int32_t sum, int32_t value, uint32_t root)
{
    __asm__("smlawb %0, %1, %2, %0" : "+r"(sum) : "r"(value), "r"(root));
    return sum;
}
#else
AIDGE_KIT_INLINE int32_t aidge_kit_times(int32_t value, int32_t factor)
{
#if AIDGE_KIT_NARROW
    return (value >> 16) * factor + (((int32_t)((uint32_t)value & 0xFFFFu) * factor) >> 16);
#else
    return (int32_t)(((int64_t)value * factor) >> 16);
#endif
}

AIDGE_KIT_INLINE int32_t aidge_kit_times_low(int32_t value, uint32_t root)
{
    return aidge_kit_times(value, (int16_t)(uint16_t)(root & 0xFFFFu));
}

AIDGE_KIT_INLINE int32_t aidge_kit_times_high(int32_t value, uint32_t root)
{
    return aidge_kit_times(value, (int16_t)(uint16_t)(root >> 16));
}

AIDGE_KIT_INLINE int32_t aidge_kit_add_times_low(int32_t sum, int32_t value, uint32_t root)
{
    return sum + aidge_kit_times_low(value, root);
}
#endif

/* Half of the product of a point with a root. */
#define AIDGE_KIT_HALF_PRODUCT(r, i, point, root)                                                             \
    const int32_t r = aidge_kit_times_low((point)[0], root) - aidge_kit_times_high((point)[1], root);         \
    const int32_t i = aidge_kit_add_times_low(aidge_kit_times_high((point)[0], root), (point)[1], root)

/*
 * Pairs of neighbouring samples, windowed, as points in the order of reversed digits; zeros after the frame. The window has
 * units of 2^-15, and a product loses its `lost` lowest bits.
 */
AIDGE_KIT_NOINLINE void aidge_kit_log_mel_load(const int16_t *frame, const int16_t *window, int32_t *z, const uint16_t *order,
                                               int32_t taps, int32_t points, int32_t lost)
{
    const int32_t *end = z + 2 * points;
    const int32_t half = (int32_t)1 << (lost - 1);
    for (; z != end; z += 2) {
        const int32_t first = 2 * (int32_t)*order++;
        z[0] = 0;
        z[1] = 0;
        if (first < taps) {
            z[0] = (frame[first] * window[first] + half) >> lost;
            if (first + 1 < taps) {
                z[1] = (frame[first + 1] * window[first + 1] + half) >> lost;
            }
        }
    }
}

/* The first pass of radix 4: sub-transforms of one point, roots of 1 that are 1. */
AIDGE_KIT_NOINLINE void aidge_kit_log_mel_first4(int32_t *z, int32_t points)
{
    const int32_t *end = z + 2 * points;
    for (; z != end; z += 8) {
        const int32_t sum_r = z[0] + z[4];
        const int32_t sum_i = z[1] + z[5];
        const int32_t gap_r = z[0] - z[4];
        const int32_t gap_i = z[1] - z[5];
        const int32_t odd_r = z[2] + z[6];
        const int32_t odd_i = z[3] + z[7];
        const int32_t turn_r = z[3] - z[7];
        const int32_t turn_i = z[6] - z[2];
        z[0] = sum_r + odd_r;
        z[1] = sum_i + odd_i;
        z[2] = gap_r + turn_r;
        z[3] = gap_i + turn_i;
        z[4] = sum_r - odd_r;
        z[5] = sum_i - odd_i;
        z[6] = gap_r - turn_r;
        z[7] = gap_i - turn_i;
    }
}

/* A pass of radix 4: sub-transforms of `length` points become ones of 4 * length. Returns where the next pass's roots are. */
AIDGE_KIT_NOINLINE const uint32_t *aidge_kit_log_mel_4(int32_t *z, const uint32_t *roots, int32_t points, int32_t length)
{
    const int32_t *end = z + 2 * points;
    int32_t place;
    for (place = 0; place < length; place++) {
        const uint32_t first = roots[0];
        const uint32_t second = roots[1];
        const uint32_t third = roots[2];
        int32_t *a = z + 2 * place;
        do {
            int32_t *b = a + 2 * length;
            int32_t *c = b + 2 * length;
            int32_t *d = c + 2 * length;
            AIDGE_KIT_HALF_PRODUCT(c_r, c_i, c, second);
            const int32_t sum_r = a[0] + 2 * c_r;
            const int32_t sum_i = a[1] + 2 * c_i;
            const int32_t gap_r = a[0] - 2 * c_r;
            const int32_t gap_i = a[1] - 2 * c_i;
            AIDGE_KIT_HALF_PRODUCT(b_r, b_i, b, first);
            AIDGE_KIT_HALF_PRODUCT(d_r, d_i, d, third);
            const int32_t odd_r = b_r + d_r;
            const int32_t odd_i = b_i + d_i;
            const int32_t turn_r = b_i - d_i;
            const int32_t turn_i = d_r - b_r;
            a[0] = sum_r + 2 * odd_r;
            a[1] = sum_i + 2 * odd_i;
            b[0] = gap_r + 2 * turn_r;
            b[1] = gap_i + 2 * turn_i;
            c[0] = sum_r - 2 * odd_r;
            c[1] = sum_i - 2 * odd_i;
            d[0] = gap_r - 2 * turn_r;
            d[1] = gap_i - 2 * turn_i;
            a = d + 2 * length;
        } while (a < end);
        roots += 3;
    }
    return roots;
}

/* The last pass of an odd power of two. */
AIDGE_KIT_NOINLINE const uint32_t *aidge_kit_log_mel_2(int32_t *z, const uint32_t *roots, int32_t points, int32_t length)
{
    const int32_t *end = z + 2 * points;
    int32_t place;
    for (place = 0; place < length; place++) {
        const uint32_t root = *roots++;
        int32_t *a = z + 2 * place;
        do {
            int32_t *b = a + 2 * length;
            AIDGE_KIT_HALF_PRODUCT(b_r, b_i, b, root);
            b[0] = a[0] - 2 * b_r;
            b[1] = a[1] - 2 * b_i;
            a[0] += 2 * b_r;
            a[1] += 2 * b_i;
            a = b + 2 * length;
        } while (a < end);
    }
    return roots;
}

/* The spectrum of 2 * points real values in the place of that of `points` complex ones; all bits of it, one on another. */
AIDGE_KIT_NOINLINE uint32_t aidge_kit_log_mel_part(int32_t *z, const uint32_t *roots, int32_t points)
{
    int32_t *low = z + 2;
    int32_t *high = z + 2 * points - 2;
    const int32_t both = z[0];
    int32_t bits;
    z[0] = both + z[1];
    z[2 * points] = both - z[1];
    z[1] = 0;
    z[2 * points + 1] = 0;
    bits = (z[0] ^ (z[0] >> 31)) | (z[2 * points] ^ (z[2 * points] >> 31));
    for (; low < high; low += 2, high -= 2) {
        const uint32_t root = *roots++;
        const int32_t gap[2] = {low[0] - high[0], low[1] + high[1]};
        const int32_t even_r = (low[0] + high[0]) >> 1;
        const int32_t even_i = (low[1] - high[1]) >> 1;
        AIDGE_KIT_HALF_PRODUCT(odd_r, odd_i, gap, root);
        low[0] = even_r + odd_r;
        low[1] = even_i + odd_i;
        high[0] = even_r - odd_r;
        high[1] = odd_i - even_i;
        bits |= (low[0] ^ (low[0] >> 31)) | (low[1] ^ (low[1] >> 31));
        bits |= (high[0] ^ (high[0] >> 31)) | (high[1] ^ (high[1] >> 31));
    }
    low[1] = -low[1];
    return (uint32_t)(bits | (low[0] ^ (low[0] >> 31)) | (low[1] ^ (low[1] >> 31)));
}

/* powers[k] = the square of point k, lifted so that the largest has 31 bits; in the place of the points. */
AIDGE_KIT_NOINLINE void aidge_kit_log_mel_powers(const int32_t *z, uint32_t *powers, int32_t count, int32_t lift)
{
    const uint32_t *end = powers + count;
    while (powers != end) {
        const int32_t real = (int32_t)((uint32_t)z[0] << lift);
        const int32_t imaginary = (int32_t)((uint32_t)z[1] << lift);
        const uint64_t square = (uint64_t)aidge_kit_product_s32(real, real)
                                + (uint64_t)aidge_kit_product_s32(imaginary, imaginary);
        *powers++ = (uint32_t)(square >> 32);
        z += 2;
    }
}

/* The sum over k < count of powers[k] * weights[k]. */
AIDGE_KIT_INLINE uint64_t aidge_kit_log_mel_band(const uint32_t *powers, const uint16_t *weights, int32_t count)
{
    uint64_t sum = 0;
    int32_t k;
    for (k = 0; k < count; k++) {
#if AIDGE_KIT_NARROW
        const uint32_t low = (powers[k] & 0xFFFFu) * weights[k];
        const uint32_t high = (powers[k] >> 16) * weights[k];
        sum += ((uint64_t)high << 16) + low;
#else
        sum += (uint64_t)powers[k] * weights[k];
#endif
    }
    return sum;
}

/* log2(sum * 2^exponent + floor) in steps of 2^-10; curve: log2(1 + i / 32) in units of 2^-16. */
AIDGE_KIT_INLINE int32_t aidge_kit_log_power(uint64_t sum, int32_t exponent, uint64_t floor, const int32_t *curve)
{
    const uint64_t least = exponent > 0 ? aidge_kit_shift_right(floor, exponent) : floor;
    const uint64_t whole = (exponent < 0 ? aidge_kit_shift_right(sum, -exponent) : sum) + (least != 0u ? least : 1u);
    const int32_t bits = aidge_kit_bits_u64(whole);
    const uint32_t top = (uint32_t)(aidge_kit_shift_left(whole, 64 - bits) >> 32);
    const uint32_t mantissa = (top >> 15) & 0xFFFFu;
    const int32_t *segment = curve + (mantissa >> 11);
    const int32_t part = segment[0] + (((segment[1] - segment[0]) * (int32_t)(mantissa & 2047u)) >> 11);
    return (bits - 1 + (exponent > 0 ? exponent : 0)) * 1024 + (part >> 6);
}

/* The frames: `taps` samples every `step`; points of the transform, bands of the result. */
typedef struct {
    int32_t rows, samples, frames, step, taps, points, bands;
} aidge_kit_log_mel_shape;

/* How a logarithm becomes a stored value: (logarithm * multiplier + offset) >> shift, within low and high. */
AIDGE_KIT_INLINE int32_t aidge_kit_log_mel_level(int32_t logarithm, const int32_t *levels)
{
    const int32_t level = (logarithm * levels[0] + levels[1]) >> levels[2];
    return level < levels[3] ? levels[3] : level > levels[4] ? levels[4] : level;
}
