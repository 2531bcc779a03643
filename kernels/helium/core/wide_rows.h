/* SPDX-License-Identifier: 0BSD */
#include "copies.h"

/* The same as aidge_helium_copy, of many bytes. */
static inline void aidge_helium_wide_copy(int8_t *target, const int8_t *source, int32_t bytes)
{
    const int32_t many = bytes >> 6;
    __asm__ volatile("wls lr, %[many], 2f\n"
                     "1:\n\t"
                     "vldrb.u8 q0, [%[source]], #16\n\t"
                     "vstrb.8 q0, [%[target]], #16\n\t"
                     "vldrb.u8 q1, [%[source]], #16\n\t"
                     "vstrb.8 q1, [%[target]], #16\n\t"
                     "vldrb.u8 q0, [%[source]], #16\n\t"
                     "vstrb.8 q0, [%[target]], #16\n\t"
                     "vldrb.u8 q1, [%[source]], #16\n\t"
                     "vstrb.8 q1, [%[target]], #16\n\t"
                     "le lr, 1b\n"
                     "2:"
                     : [target] "+r"(target), [source] "+r"(source)
                     : [many] "r"(many)
                     : "lr", "d0", "d1", "d2", "d3", "memory");
    bytes &= 63;
    aidge_helium_copy(target, source, bytes);
}

/* Row `top` of the input (maybe negative) and the rows below it go to scratch; rows outside hold the zero point. */
static void aidge_helium_wide_rows(const int8_t *x, int8_t *scratch, int32_t top, int32_t zero_point,
                                   const aidge_helium_rows_shape *shape)
{
    int32_t row;
    scratch += shape->left;
    for (row = 0; row < shape->rows; row++) {
        if ((top >= 0) && (top < shape->in_height)) {
            aidge_helium_wide_copy(scratch, x + top * shape->in_row_bytes, shape->copied);
        } else {
            aidge_helium_fill(scratch, zero_point, shape->copied);
        }
        scratch += shape->row_bytes;
        top += shape->dilation;
    }
}
