/* SPDX-License-Identifier: 0BSD */
#include <stdint.h>
#include "shared/float_model.h"

/* Boxes of `batches` images, scores of `classes` each; at most `most` boxes of a class, `rows` rows of the result. */
typedef struct {
    int32_t batches, classes, boxes, most, rows, centered, bounded;
} aidge_ref_suppression_shape;

/* A box as its smallest and largest coordinates: low, low, high, high. */
static inline void aidge_ref_corners(const float *box, float *corners, int32_t centered)
{
    int32_t axis;
    for (axis = 0; axis < 2; axis++) {
        const float half = box[axis + 2] / 2.0f;
        const float first = centered ? box[axis] - half : box[axis];
        const float second = centered ? box[axis] + half : box[axis + 2];
        corners[axis] = first < second ? first : second;
        corners[axis + 2] = first < second ? second : first;
    }
}

/* The share of their union that two boxes have in common. */
static float aidge_ref_overlap(const float *a, const float *b)
{
    const float height = (a[2] < b[2] ? a[2] : b[2]) - (a[0] > b[0] ? a[0] : b[0]);
    const float width = (a[3] < b[3] ? a[3] : b[3]) - (a[1] > b[1] ? a[1] : b[1]);
    if ((height > 0.0f) && (width > 0.0f)) {
        const float common = height * width;
        const float together = (a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - common;
        return together > 0.0f ? common / together : 0.0f;
    }
    return 0.0f;
}

/*
 * Rows of batch, class and box: of each class the best box, then the best of those that overlap it by no more than bounds[0],
 * and so on; with `bounded` only scores above bounds[1]. scratch: a byte for each box, whether it is out of the choice.
 */
static void aidge_ref_suppression_float32(const float *boxes, const float *scores, int64_t *output, void *scratch,
                                          const float *bounds, const aidge_ref_suppression_shape *shape)
{
    uint8_t *taken = (uint8_t *)scratch;
    int32_t batch, one, box, number;
    int32_t row = 0;
    for (batch = 0; batch < shape->batches; batch++) {
        for (one = 0; one < shape->classes; one++) {
            for (box = 0; box < shape->boxes; box++) {
                taken[box] = (uint8_t)(shape->bounded && !(scores[box] > bounds[1]));
            }
            for (number = 0; (number < shape->most) && (row < shape->rows); number++) {
                float best_corners[4];
                int32_t best = -1;
                for (box = 0; box < shape->boxes; box++) {
                    if ((taken[box] == 0u) && ((best < 0) || (scores[box] > scores[best]))) {
                        best = box;
                    }
                }
                if (best < 0) {
                    break;
                }
                output[3 * row] = batch;
                output[3 * row + 1] = one;
                output[3 * row + 2] = best;
                row++;
                taken[best] = 1;
                aidge_ref_corners(boxes + 4 * best, best_corners, shape->centered);
                for (box = 0; box < shape->boxes; box++) {
                    if (taken[box] == 0u) {
                        float corners[4];
                        aidge_ref_corners(boxes + 4 * box, corners, shape->centered);
                        taken[box] = (uint8_t)(aidge_ref_overlap(best_corners, corners) > bounds[0]);
                    }
                }
            }
            scores += shape->boxes;
        }
        boxes += 4 * shape->boxes;
    }
    for (row = 3 * row; row < 3 * shape->rows; row++) {
        output[row] = -1;
    }
}
