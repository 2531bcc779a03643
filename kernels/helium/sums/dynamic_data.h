/* SPDX-License-Identifier: 0BSD */
#include <math.h>
#include "core/helium.h"

/* What is known of the data at run time: their zero point with its sign changed, and their scale. */
typedef struct {
    int32_t zero_point;
    float scale;
} aidge_helium_data;
