/* SPDX-License-Identifier: 0BSD */
#include "core/helium.h"
#include "kit/cells.h"
#include "kit/common_exponent.h"

#define AIDGE_HELIUM_RECURRENT_BITS 22

typedef struct {
    float of_data, of_state;
} aidge_helium_recurrent_units;

/*
 * Floats as integers of 22 bits with one exponent, in three signed digits of 8 bits, lowest first; the same digits of 16
 * values are neighbours. Returns the unit of the integers.
 */
AIDGE_KIT_NOINLINE float aidge_helium_recurrent_digits(int8_t *digits, const float *values, int32_t *integers, int32_t count)
{
    const float unit = aidge_kit_common_exponent(values, integers, count, AIDGE_HELIUM_RECURRENT_BITS);
    int32_t index;
    for (index = 0; index < count; index++) {
        int8_t *const place = digits + 48 * (index >> 4) + (index & 15);
        const int32_t middle = (integers[index] + 128) >> 8;
        place[0] = (int8_t)(integers[index] - 256 * middle);
        place[16] = (int8_t)(middle - 256 * ((middle + 128) >> 8));
        place[32] = (int8_t)((middle + 128) >> 8);
    }
    return unit;
}
