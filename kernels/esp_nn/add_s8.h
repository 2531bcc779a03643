/* SPDX-License-Identifier: 0BSD */
#include "layer.h"

/* k: -(zero point) of both inputs, output zero point, lowest and highest stored value, {multiplier, shift} of the first, of the
 * second and of the sum, shift to the left. */
static void aidge_esp_nn_add_s8(const int8_t *first, const int8_t *second, int8_t *output, const int32_t *k, int32_t count)
{
    esp_nn_add_elementwise_s8_ansi(first, second, k[0], k[1], k[5], k[7], k[6], k[8], k[11], output, k[2], k[9], k[10], k[3], k[4],
                                   count);
}
