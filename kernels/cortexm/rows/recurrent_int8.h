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

/* Returns the start of sums of products by these integers. Its roundings and the roundings of the products are half a unit too
 * low on average. */
AIDGE_CORTEXM_NOINLINE int32_t aidge_cortexm_recurrent_start(const int32_t *integers, int32_t count)
{
    int32_t sum = 0;
    for (; count > 0; count--) {
        sum -= *integers++ >> 9;
    }
    return sum;
}
