/* SPDX-License-Identifier: 0BSD */
#include "core/lanes.h"
#include "kit/requantize.h"
#include "kit/resample_lanes.h"
#include "kit/wide.h"

#if !AIDGE_CORTEXM_FPU
enum {
    AIDGE_CORTEXM_RESAMPLE_EVEN,
    AIDGE_CORTEXM_RESAMPLE_TURNED, /* ties go to the odd value */
    AIDGE_CORTEXM_RESAMPLE_LINE,
    AIDGE_CORTEXM_RESAMPLE_FLOATS
};

/* The quantized value of a sum; levels: {start of sums, multiplier, constant}, or {start, bits of the factor, zero point}. */
AIDGE_CORTEXM_INLINE int32_t aidge_cortexm_resampled(int32_t sum, const int32_t *levels, int32_t form, int32_t shift)
{
    float factor;
    switch (form) {
    case AIDGE_CORTEXM_RESAMPLE_EVEN:
        return (sum + ((sum >> shift) & 1)) >> shift;
    case AIDGE_CORTEXM_RESAMPLE_TURNED:
        return (sum - 1 + ((sum >> shift) & 1)) >> shift;
    case AIDGE_CORTEXM_RESAMPLE_LINE:
        return ((int32_t)((uint64_t)aidge_kit_multiply_s64(sum, levels[1]) >> 32) + levels[2]) >> shift;
    default:
        (void)memcpy(&factor, levels + 1, sizeof factor);
        return aidge_kit_scale(sum, factor) + levels[2];
    }
}

/* The C version of a row of outputs. */
AIDGE_CORTEXM_C void aidge_cortexm_resampled_row(const aidge_kit_lanes_row *row, int8_t *output, const int32_t *columns,
                                                 const int32_t *levels, int32_t form, int32_t shift)
{
    for (; columns != row->end; columns += 4) {
        const int8_t *from[4];
        uint32_t shares[4];
        int32_t place, tap;
        aidge_kit_lanes_position(from, shares, row, columns);
        for (place = 0; place < row->run; place++) {
            int32_t sum = levels[0];
            for (tap = 0; tap < 4; tap++) {
                sum += from[tap][place] * (int32_t)shares[tap];
            }
            *output++ = (int8_t)aidge_cortexm_int8(aidge_cortexm_resampled(sum, levels, form, shift));
        }
    }
}
#endif
