/* SPDX-License-Identifier: 0BSD */
#include "strided_bytes.h"
#include "reordered.h"

/* Bytes in another order. */
static void aidge_helium_reorder_bytes(const void *source, void *target, const aidge_helium_reordered *shape)
{
    const int8_t *const input = (const int8_t *)source;
    int8_t *output = (int8_t *)target;
    const int32_t length = shape->length;
    const int32_t step = shape->step;
    int32_t a, b, c, d;
    for (a = 0; a < shape->dims[0]; a++) {
        for (b = 0; b < shape->dims[1]; b++) {
            for (c = 0; c < shape->dims[2]; c++) {
                const int8_t *run = input + a * shape->steps[0] + b * shape->steps[1] + c * shape->steps[2];
                for (d = 0; d < shape->dims[3]; d++) {
                    if (step == 1) {
                        aidge_helium_copy((int8_t *)output, (const int8_t *)run, length);
                    } else {
                        aidge_helium_strided_bytes(output, 1, run, step, length);
                    }
                    output += length;
                    run += shape->steps[3];
                }
            }
        }
    }
}
