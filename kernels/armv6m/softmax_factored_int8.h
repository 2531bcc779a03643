/* SPDX-License-Identifier: 0BSD */
#include "target.h"
#include "kit/softmax_rows.h"

/* Softmax of rows of neighbouring int8 values, with exponentials of two factors. */
static void aidge_armv6m_softmax_factored_int8(const int8_t *input, int8_t *output, const uint32_t *exponentials,
                                           const uint64_t *quotient, const int32_t *zero_point, int32_t rows, int32_t length)
{
    aidge_kit_softmax_rows_int8(input, output, exponentials, quotient, zero_point, rows, length, 1);
}
