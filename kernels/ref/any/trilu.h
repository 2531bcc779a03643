/* SPDX-License-Identifier: 0BSD */
#include <stdint.h>
#include <string.h>

/* The triangle of matrices [rows][columns], any type: from (upper) or up to (lower) the diagonal `shift`; elsewhere each byte is
 * `fill`, 0 or the zero point. */
static void aidge_ref_trilu(const void *input, void *output, int32_t matrices, int32_t rows, int32_t columns,
                            int32_t element_bytes,
                            int32_t upper, int32_t shift, int32_t fill)
{
    const uint8_t *from = (const uint8_t *)input;
    uint8_t *to = (uint8_t *)output;
    const uint32_t row_bytes = (uint32_t)(columns * element_bytes);
    int32_t matrix, row;
    for (matrix = 0; matrix < matrices; matrix++) {
        for (row = 0; row < rows; row++) {
            int32_t first = upper != 0 ? row + shift : row + shift + 1;
            uint32_t cut;
            first = first < 0 ? 0 : first > columns ? columns : first;
            cut = (uint32_t)(first * element_bytes);
            if (upper != 0) {
                (void)memset(to, (int)fill, cut);
                (void)memcpy(to + cut, from + cut, row_bytes - cut);
            } else {
                (void)memcpy(to, from, cut);
                (void)memset(to + cut, (int)fill, row_bytes - cut);
            }
            from += row_bytes;
            to += row_bytes;
        }
    }
}
