/* SPDX-License-Identifier: MIT */
/* Reads one digit, drawn below, and prints the answer. */
#include <stdint.h>

#include "digits.h"
#include "semihosting.h"

static const char *const drawing[] = {
    "  ####  ",
    " ##  ## ",
    "     ## ",
    "   ###  ",
    "     ## ",
    "     ## ",
    " ##  ## ",
    "  ####  ",
};

/* A pixel of ink is 1.0, one of paper 0.0; the header says how the model stores real numbers. */
static int8_t stored(float pixel)
{
    const float level = pixel / DIGITS_INPUT_SCALE + (float)DIGITS_INPUT_ZERO_POINT;
    return (int8_t)(level > 127.0f ? 127 : (int32_t)(level < 0.0f ? level - 0.5f : level + 0.5f));
}

int main(void)
{
    static int8_t image[DIGITS_INPUT_SIZE], scores[DIGITS_OUTPUT_SIZE];
    int32_t answer = 0;

    for (int32_t i = 0; i < DIGITS_INPUT_SIZE; i++) {
        image[i] = stored(drawing[i / 8][i % 8] == '#' ? 1.0f : 0.0f);
    }
    if (digits_run(image, scores) != 0) {
        return 1;
    }
    for (int32_t i = 1; i < DIGITS_OUTPUT_SIZE; i++) {
        answer = scores[i] > scores[answer] ? i : answer;
    }
    semihosting_write0("it is a ");
    semihosting_write_integer(answer);
    semihosting_write0("\n");
    return 0;
}
