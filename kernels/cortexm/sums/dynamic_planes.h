/* SPDX-License-Identifier: 0BSD */
#include "windows/depthwise.h"

/* The scale of the data, and its zero point times -1; the channels of a group that the group before has computed. */
typedef struct {
    float scale;
    int32_t minus_zero, computed;
} aidge_cortexm_dynamic_numbers;
