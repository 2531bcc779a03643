/* SPDX-License-Identifier: 0BSD */
#include <stdint.h>
#include "logistic_float32.h"

/* Each score becomes its logistic value. */
static void aidge_ref_scores_logistic_float32(float *scores, int32_t count)
{
    int32_t i;
    for (i = 0; i < count; i++) {
        scores[i] = aidge_ref_logistic_float32(scores[i]);
    }
}
