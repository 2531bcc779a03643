/* SPDX-License-Identifier: 0BSD */
#include "windows/depthwise.h"

/* Of the data its scale, and its zero point times -1; of a group the channels that the group before has computed. */
typedef struct {
    float scale;
    int32_t minus_zero, computed;
} aidge_cortexm_dynamic_numbers;
