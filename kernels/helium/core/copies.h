/* SPDX-License-Identifier: 0BSD */
#include "helium.h"

/* The rows of the input that one row of the output sees, side by side in scratch with their pads. Sizes in bytes. */
typedef struct {
    int32_t rows, row_bytes;          /* in scratch */
    int32_t in_height, in_row_bytes;
    int32_t dilation;
    int32_t left, copied;             /* bytes of pad before the copied part */
} aidge_helium_rows_shape;

static inline void aidge_helium_copy(int8_t *target, const int8_t *source, int32_t bytes)
{
    __asm__ volatile("wlstp.8 lr, %2, 2f\n"
                     "1:\n\t"
                     "vldrb.u8 q0, [%1], #16\n\t"
                     "vstrb.8 q0, [%0], #16\n\t"
                     "letp lr, 1b\n"
                     "2:"
                     : "+r"(target), "+r"(source)
                     : "r"(bytes)
                     : "lr", "d0", "d1", "memory");
}

static inline void aidge_helium_fill(int8_t *target, int32_t value, int32_t bytes)
{
    __asm__ volatile("vdup.8 q0, %1\n\t"
                     "wlstp.8 lr, %2, 2f\n"
                     "1:\n\t"
                     "vstrb.8 q0, [%0], #16\n\t"
                     "letp lr, 1b\n"
                     "2:"
                     : "+r"(target)
                     : "r"(value), "r"(bytes)
                     : "lr", "d0", "d1", "memory");
}
