/* SPDX-License-Identifier: 0BSD */
#include "core/target.h"
#include "recurrent.h"
#include "kit/common_exponent.h"

/* In scratch before x: what sums of data and of the state begin with, and the units of the integers. */
typedef struct {
    int32_t of_data, of_state;
    float unit_of_data, unit_of_state;
} aidge_cortexm_recurrent_units;

/* Data of int8 less their zero point, shifted to as many bits as float data have. Returns what sums of products by them begin with:
 * 128 times all of them, less 16 bits, to be taken off. */
AIDGE_CORTEXM_NOINLINE int32_t aidge_cortexm_recurrent_bytes(int32_t *integers, const int8_t *data, int32_t count,
                                                             int32_t zero_point, int32_t shift)
{
    const int32_t factor = (int32_t)1 << shift;
    int32_t sum = 0;
    for (; count > 0; count--) {
        const int32_t integer = (*data++ - zero_point) * factor;
        *integers++ = integer;
        sum -= integer >> 9;
    }
    return sum;
}

/* What sums of products by these integers begin with. Its roundings and the roundings of the products are half a unit too low on
 * average. */
AIDGE_CORTEXM_NOINLINE int32_t aidge_cortexm_recurrent_start(const int32_t *integers, int32_t count)
{
    int32_t sum = 0;
    for (; count > 0; count--) {
        sum -= *integers++ >> 9;
    }
    return sum;
}

/* sum + value * halfword / 2^16: SMLAWB and SMLAWT. */
AIDGE_CORTEXM_INLINE int32_t aidge_cortexm_wide_product(int32_t value, uint32_t halfword, int32_t sum)
{
    return sum + (int32_t)(((int64_t)value * (int16_t)halfword) >> 16);
}

/* The sums of a group of 4 rows over `count` columns, times unit and factors, are added. Returns where the factors end. */
AIDGE_CORTEXM_INLINE const int32_t *aidge_cortexm_wide_sums(float *real, const int32_t *stream, const int32_t *values,
                                                            int32_t count, int32_t start, float unit)
{
    int32_t sums[4] = {start, start, start, start};
    float factors[4];
    int32_t row;
    for (; count > 0; count--) {
        const uint32_t word = (uint32_t)*stream++;
        const uint32_t shifted = (word << 8) ^ 0x80808080u;
        sums[0] = aidge_cortexm_wide_product(*values, shifted & 0xFFFFu, sums[0]);
        sums[1] = aidge_cortexm_wide_product(*values, word & 0xFFFFu, sums[1]);
        sums[2] = aidge_cortexm_wide_product(*values, shifted >> 16, sums[2]);
        sums[3] = aidge_cortexm_wide_product(*values, word >> 16, sums[3]);
        values++;
    }
    (void)memcpy(factors, stream, sizeof factors);
    real[0] += (float)sums[0] * unit * factors[0];
    for (row = 1; row < 4; row++) {
        sums[row] -= sums[row - 1] >> 8;
        real[row] += (float)sums[row] * unit * factors[row];
    }
    return stream + 4;
}

/* The C version of recurrent_sums.py. */
AIDGE_CORTEXM_NOINLINE void aidge_cortexm_row_sums_c(const int32_t *x, float *sums, const int32_t *stream, const int32_t *end,
    const int32_t *state, const aidge_cortexm_recurrent_units *units, int32_t data, int32_t hidden)
{
    for (; stream != end; sums += 4) {
        float real[4];
        (void)memcpy(real, stream, sizeof real);
        stream += 4;
        if (data > 0) {
            stream = aidge_cortexm_wide_sums(real, stream, x, data, units->of_data, units->unit_of_data);
        }
        if (hidden > 0) {
            stream = aidge_cortexm_wide_sums(real, stream, state, hidden, units->of_state, units->unit_of_state);
        }
        (void)memcpy(sums, real, sizeof real);
    }
}
