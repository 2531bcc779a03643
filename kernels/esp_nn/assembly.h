/* SPDX-License-Identifier: 0BSD */
#include "layer.h"
#include "checkout/include/esp_nn_esp32s3.h"

/* Whether the assembly may read and write these: it rounds other addresses down. Layers at other addresses get C. */
static int32_t aidge_esp_nn_is_aligned(const int8_t *input, const int8_t *output)
{
    return (((uintptr_t)input | (uintptr_t)output) & 15U) == 0U ? 1 : 0;
}
