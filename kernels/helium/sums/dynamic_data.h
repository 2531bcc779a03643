/* SPDX-License-Identifier: 0BSD */
#include <math.h>
#include "core/helium.h"

/* The zero point of the data with its sign changed, and their scale: both are known only at run time. */
typedef struct {
    int32_t zero_point;
    float scale;
} aidge_helium_data;
