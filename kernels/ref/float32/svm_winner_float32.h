/* SPDX-License-Identifier: 0BSD */
#include <stdint.h>
#include "shared/float_model.h"

/* The class with the most votes; a decision for each pair of classes, positive for the first. */
static int32_t aidge_ref_svm_winner_float32(const float *decisions, int32_t classes)
{
    int32_t best = 0, most = -1, one, other;
    for (one = 0; one < classes; one++) {
        int32_t votes = 0;
        const float *decision = decisions;
        int32_t first;
        for (first = 0; first < classes - 1; first++) {
            for (other = first + 1; other < classes; other++) {
                const int32_t winner = *decision++ > 0.0f ? first : other;
                votes += winner == one ? 1 : 0;
            }
        }
        if (votes > most) {
            most = votes;
            best = one;
        }
    }
    return best;
}
