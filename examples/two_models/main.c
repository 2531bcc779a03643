/* SPDX-License-Identifier: MIT */
/* A meter on a pump: one network listens to the pump; when it is unlike itself, another one reads the meter's digit. They never run
 * at once, so they work in the same memory. */
#include <stdalign.h>

#include "anomaly.h"
#include "digits.h"
#include "semihosting.h"
#include "test_images.h"
#include "windows.h"

#define LARGER(a, b) ((a) > (b) ? (a) : (b))

static alignas(LARGER(ANOMALY_ARENA_ALIGNMENT, DIGITS_ARENA_ALIGNMENT)) unsigned char
    arena[LARGER(ANOMALY_ARENA_BYTES, DIGITS_ARENA_BYTES)];

static int read_meter(void)
{
    int8_t image[DIGITS_INPUT_SIZE], scores[DIGITS_OUTPUT_SIZE];
    int best = 0;

    for (int pixel = 0; pixel < DIGITS_INPUT_SIZE; pixel++) {
        image[pixel] = (int8_t)(8 * (int)test_images[0][pixel] - 64);
    }
    if (digits_run(arena, image, scores) != 0) {
        return -1;
    }
    for (int digit = 1; digit < DIGITS_OUTPUT_SIZE; digit++) {
        best = scores[digit] > scores[best] ? digit : best;
    }
    return best;
}

int main(void)
{
    for (int32_t number = 0; number < (int32_t)(sizeof windows / sizeof windows[0]); number++) {
        float score[ANOMALY_OUTPUT_SIZE];

        if (anomaly_run(arena, windows[number], score) != 0) {
            return 1;
        }
        if (score[0] > 0.0f) {
            semihosting_write0("alarm; the meter says ");
            semihosting_write_integer(read_meter());
            semihosting_write0("\n");
        }
    }
    semihosting_write0("arenas of ");
    semihosting_write_integer(ANOMALY_ARENA_BYTES);
    semihosting_write0(" and ");
    semihosting_write_integer(DIGITS_ARENA_BYTES);
    semihosting_write0(" B in ");
    semihosting_write_integer((int32_t)sizeof arena);
    semihosting_write0(" B\n");
    return 0;
}
