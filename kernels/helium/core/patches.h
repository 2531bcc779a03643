/* SPDX-License-Identifier: 0BSD */
#include "helium.h"

/* What generated patches copy; patches.py explains the fields. Steps in bytes. */
typedef struct {
    int32_t pixel_step, rows, row_step, taps, tap_step, run, patch_bytes;
} aidge_helium_patches_shape;

#if !AIDGE_HELIUM_ASSEMBLY
/* One patch of rows * taps runs for each pixel; what lies between the runs and patch_bytes is left as it is. */
static void aidge_helium_patches(const int8_t *x, int8_t *y, int32_t pixels, const aidge_helium_patches_shape *shape)
{
    int32_t pixel, row, tap;
    for (pixel = 0; pixel < pixels; pixel++) {
        int8_t *target = y;
        for (row = 0; row < shape->rows; row++) {
            for (tap = 0; tap < shape->taps; tap++) {
                (void)memcpy(target, x + row * shape->row_step + tap * shape->tap_step, (size_t)shape->run);
                target += shape->run;
            }
        }
        x += shape->pixel_step;
        y += shape->patch_bytes;
    }
}
#endif
