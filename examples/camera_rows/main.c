/* SPDX-License-Identifier: MIT */
/* A camera hands over a line at a time; the picture is never there as a whole. Here the lines are drawn instead. */
#include "semihosting.h"
#include "stripes.h"

#define SIZE STRIPES_INPUT_ROWS
#define WIDTH 8 /* of a stripe, in pixels */

static const char *const names[STRIPES_OUTPUT_SIZE] = {"level", "rising", "upright", "falling"};

static void wait_for_line(int direction, int y, int8_t *line)
{
    for (int x = 0; x < SIZE; x++) {
        const int across[] = {y, x + y, x, SIZE + x - y};

        line[x] = across[direction] / WIDTH & 1 ? 100 : -100;
    }
}

int main(void)
{
    int32_t right = 0;

    for (int direction = 0; direction < STRIPES_OUTPUT_SIZE; direction++) {
        int8_t line[SIZE], scores[STRIPES_OUTPUT_SIZE];
        int best = 0;

        if (stripes_begin(scores) != 0) {
            return 1;
        }
        for (int y = 0; y < SIZE; y++) {
            wait_for_line(direction, y, line);
            if (stripes_push_input(line, 1) < 0) {
                return 1;
            }
        }
        if (stripes_end() != 0) {
            return 1;
        }
        for (int index = 1; index < STRIPES_OUTPUT_SIZE; index++) {
            best = scores[index] > scores[best] ? index : best;
        }
        semihosting_write0(names[best]);
        semihosting_write0(best == direction ? " " : "? ");
        right += best == direction;
    }
    semihosting_write0("\n");
    return right == STRIPES_OUTPUT_SIZE ? 0 : 1;
}
