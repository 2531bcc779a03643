/* SPDX-License-Identifier: MIT */
/* Classifies the 450 test images, prints how many answers are right, and exits with 0 if at least 97.0 % are. */
#include <stdint.h>

#include "digits.h"
#include "semihosting.h"
#include "test_images.h"

#if DIGITS_INPUT_SIZE != TEST_IMAGE_PIXELS
#error "digits.onnx takes images of another size than test_images.c holds"
#endif

#define REQUIRED_PERCENT 97

/* The model's input has scale 1/128 and zero point -64: a pixel of 0 to 16 means 0.0 to 1.0 and is 8 * pixel - 64. */
static void quantize(const uint8_t *pixels, int8_t *input)
{
    for (uint32_t i = 0; i < TEST_IMAGE_PIXELS; i++) {
        input[i] = (int8_t)(8 * (int)pixels[i] - 64);
    }
}

static uint32_t index_of_largest(const int8_t *scores)
{
    uint32_t best = 0;
    for (uint32_t i = 1; i < DIGITS_OUTPUT_SIZE; i++) {
        if (scores[i] > scores[best]) {
            best = i;
        }
    }
    return best;
}

static void print_result(int32_t correct)
{
    const int32_t permille = (correct * 1000 + TEST_IMAGES / 2) / TEST_IMAGES;
    semihosting_write_integer(TEST_IMAGES);
    semihosting_write0(" images, ");
    semihosting_write_integer(correct);
    semihosting_write0(" correct, ");
    semihosting_write_integer(permille / 10);
    semihosting_write0(".");
    semihosting_write_integer(permille % 10);
    semihosting_write0(" %\n");
}

int main(void)
{
    static int8_t input[DIGITS_INPUT_SIZE];
    static int8_t scores[DIGITS_OUTPUT_SIZE];
    int32_t correct = 0;

    for (uint32_t image = 0; image < TEST_IMAGES; image++) {
        quantize(test_images[image], input);
        if (digits_run(input, scores) != 0) {
            semihosting_write0("digits_run failed\n");
            return 1;
        }
        if (index_of_largest(scores) == test_labels[image]) {
            correct++;
        }
    }
    print_result(correct);
    return correct * 100 >= REQUIRED_PERCENT * TEST_IMAGES ? 0 : 1;
}
