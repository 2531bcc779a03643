/* SPDX-License-Identifier: 0BSD */
#include "checkout/include/esp_nn_defs.h"
#include "checkout/include/esp_nn_ansi_headers.h"

/* levels of all layers: -(input zero point), output zero point, lowest and highest stored value. */
static quant_data_t aidge_esp_nn_factors(const int32_t *multipliers, const int32_t *shifts)
{
    const quant_data_t factors = {(int32_t *)(uintptr_t)shifts, (int32_t *)(uintptr_t)multipliers};
    return factors;
}
