/* SPDX-License-Identifier: 0BSD */
#include "target.h"
#include "kit/window2d.h"

/* Of a window the taps inside of the image; steps to the next one and to the next row, in bytes. */
typedef struct {
    int32_t rows, columns, step, row_step;
} aidge_cortexm_taps_int16;

/* The C version of maxpool2d_int16.py. */
AIDGE_CORTEXM_NOINLINE void aidge_cortexm_largest_int16_c(int16_t *output, const int16_t *source,
                                                          const aidge_cortexm_taps_int16 *taps, int32_t count)
{
    for (; count > 0; count--) {
        const int16_t *tap = source++;
        int16_t largest = *tap;
        int32_t row, column;
        for (row = taps->rows; row > 0; row--) {
            for (column = taps->columns; column > 0; column--) {
                largest = *tap > largest ? *tap : largest;
                tap += taps->step / 2;
            }
            tap += taps->row_step / 2;
        }
        *output++ = largest;
    }
}
