/* SPDX-License-Identifier: MIT */
/* Classifies the 450 test images of ../../digits and prints how many answers are right. */
#include <stdint.h>
#include <stdio.h>

#include "digits.h"
#include "test_images.h"

/* The model's input has scale 1/128 and zero point -64: a pixel of 0 to 16 is 8 * pixel - 64. */
static void quantize(const uint8_t *pixels, int8_t *input)
{
    for (int i = 0; i < DIGITS_INPUT_SIZE; i++) {
        input[i] = (int8_t)(8 * (int)pixels[i] - 64);
    }
}

static int index_of_largest(const int8_t *scores)
{
    int best = 0;
    for (int i = 1; i < DIGITS_OUTPUT_SIZE; i++) {
        if (scores[i] > scores[best]) {
            best = i;
        }
    }
    return best;
}

void app_main(void)
{
    static int8_t input[DIGITS_INPUT_SIZE];
    static int8_t scores[DIGITS_OUTPUT_SIZE];
    int correct = 0;

    for (int image = 0; image < TEST_IMAGES; image++) {
        quantize(test_images[image], input);
        if (digits_run(input, scores) != 0) {
            printf("digits_run failed\n");
            return;
        }
        correct += index_of_largest(scores) == test_labels[image];
    }
    printf("%d images, %d correct\n", TEST_IMAGES, correct);
}
