/* SPDX-License-Identifier: 0BSD */
#include "dense.h"
#include "kit/batches.h"

/*
 * Batches of matrices [rows][inner] and [inner][columns] over 4 outer axes; steps in elements, 0 repeats. A column of the second
 * one is a channel of the stream of dense.h: words of its weights, and of what is behind them; all words of the stream.
 *
 * pattern: the zero points of both, the head of a stream, the two numbers before the weights of a channel that have an offset,
 * and what is behind them.
 */
typedef struct {
    int32_t dims[4], first_steps[4], second_steps[4];
    int32_t rows, inner, columns;
    int32_t weight_words, tail_words, stream_words;
} aidge_kit_narrow_product;

enum { AIDGE_KIT_NARROW_PRODUCT_NUMBERS = 2 };

/* The columns of a matrix as the stream of a dense layer: (a - its zero point) * (b - its zero point) is a * b, what each column
 * adds to all its sums, and the sum of a row times an offset. */
AIDGE_KIT_NOINLINE void aidge_kit_narrow_product_stream(const int8_t *second, const int32_t *pattern, int32_t *stream,
                                                       const aidge_kit_narrow_product *shape)
{
    const int32_t *const numbers = pattern + 2 + AIDGE_KIT_NARROW_HEAD_WORDS;
    const int32_t *const tail = numbers + AIDGE_KIT_NARROW_PRODUCT_NUMBERS;
    int32_t column, left, word;
    for (word = 0; word < AIDGE_KIT_NARROW_HEAD_WORDS; word++) {
        *stream++ = pattern[2 + word];
    }
    for (column = 0; column < shape->columns; column++) {
        const int8_t *value = second++;
        int8_t *weights = (int8_t *)(stream + AIDGE_KIT_NARROW_PRODUCT_NUMBERS);
        int32_t sum = 0;
        for (left = shape->inner; left > 0; left--) {
            sum += *value;
            *weights++ = *value;
            value += shape->columns;
        }
        for (left = 4 * shape->weight_words - shape->inner; left > 0; left--) {
            *weights++ = 0;
        }
        stream[0] = -pattern[1];
        stream[1] = numbers[1] - pattern[0] * (sum - shape->inner * pattern[1]);
        stream += AIDGE_KIT_NARROW_PRODUCT_NUMBERS + shape->weight_words;
        for (word = 0; word < shape->tail_words; word++) {
            *stream++ = tail[word];
        }
    }
}

/* The columns of the next 6 of `left` rows of the first matrix, and where their outputs go; the last one fills up. */
AIDGE_KIT_NOINLINE void aidge_kit_narrow_product_rows(aidge_kit_narrow_window *window, const int8_t *row, int8_t *output,
                                                      int32_t left,
                                                     const aidge_kit_narrow_product *shape)
{
    const int8_t *sources[AIDGE_KIT_NARROW_PIXELS];
    int32_t pixel;
    for (pixel = 0; pixel < AIDGE_KIT_NARROW_PIXELS; pixel++) {
        sources[pixel] = row;
        window->outputs[pixel] = output;
        if (left > 1) {
            row += shape->inner;
            output += shape->columns;
            left--;
        }
    }
    aidge_kit_narrow_pack(window->columns, sources, shape->inner);
    aidge_kit_narrow_pack(window->columns + 2, sources + 3, shape->inner);
}
