/* SPDX-License-Identifier: 0BSD */
#include "lanes.h"
#include "kit/requantize.h"
#include "kit/resample_lanes.h"
#include "kit/wide.h"

/* C versions of rows of outputs; levels: {start of sums, multiplier, constant}, or {start, bits of the factor, zero point}. */
#if !AIDGE_CORTEXM_FPU
AIDGE_CORTEXM_INLINE int32_t aidge_cortexm_pairs_sum(const int8_t *const *from, const uint32_t *shares, int32_t start,
                                                     int32_t place)
{
    int32_t sum = start;
    int32_t tap;
    for (tap = 0; tap < 4; tap++) {
        sum += from[tap][place] * (int32_t)shares[tap];
    }
    return sum;
}

AIDGE_CORTEXM_C void aidge_cortexm_pairs_by_floats(const aidge_kit_lanes_row *row, int8_t *output, const int32_t *columns,
                                                const int32_t *levels)
{
    float factor;
    (void)memcpy(&factor, levels + 1, sizeof factor);
    for (; columns != row->end; columns += 4) {
        const int8_t *from[4];
        uint32_t shares[4];
        int32_t place;
        aidge_kit_lanes_position(from, shares, row, columns);
        for (place = 0; place < row->run; place++) {
            const int32_t level = aidge_kit_scale(aidge_cortexm_pairs_sum(from, shares, levels[0], place), factor) + levels[2];
            output[place] = (int8_t)aidge_cortexm_int8(level);
        }
        output += row->run;
    }
}

AIDGE_CORTEXM_C void aidge_cortexm_pairs_by_line(const aidge_kit_lanes_row *row, int8_t *output, const int32_t *columns,
                                              const int32_t *levels, int32_t shift)
{
    for (; columns != row->end; columns += 4) {
        const int8_t *from[4];
        uint32_t shares[4];
        int32_t place;
        aidge_kit_lanes_position(from, shares, row, columns);
        for (place = 0; place < row->run; place++) {
            const int32_t sum = aidge_cortexm_pairs_sum(from, shares, levels[0], place);
            const int32_t high = (int32_t)((uint64_t)aidge_kit_multiply_s64(sum, levels[1]) >> 32);
            output[place] = (int8_t)aidge_cortexm_int8((high + levels[2]) >> shift);
        }
        output += row->run;
    }
}
#endif
