/* SPDX-License-Identifier: MIT */
/* Writes a story, character by character: each one is drawn by the scores that the model gives after the text so far. */
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "semihosting.h"
#include "story.h"

#define LENGTH 320
#define TEMPERATURE 0.7f /* below 1 the likely characters are drawn more often */
#define WORST 4.0f       /* characters with a score this far below the best are never drawn */

static const char characters[] = "\n abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.,;:!?'\"-_";
static const char prompt[] = "\nEmma ";

/* A number from 0 to 1, the same series in every run: xorshift (Marsaglia 2003). */
static float random_number(void)
{
    static uint32_t state = 1813u;

    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    return (float)(state >> 8) / 16777216.0f;
}

static int64_t number_of(char character)
{
    return (int64_t)(strchr(characters, character) - characters);
}

static int64_t drawn(const float *scores)
{
    float weights[STORY_OUTPUT_SIZE];
    float best = scores[0];
    float total = 0.0f;
    int64_t number = 0;

    for (int32_t index = 1; index < STORY_OUTPUT_SIZE; index++) {
        best = (scores[index] > best) ? scores[index] : best;
    }
    for (int32_t index = 0; index < STORY_OUTPUT_SIZE; index++) {
        weights[index] = (scores[index] > (best - WORST)) ? expf((scores[index] - best) / TEMPERATURE) : 0.0f;
        total += weights[index];
    }

    const float wanted = total * random_number();

    total = 0.0f;
    for (int32_t index = 0; index < STORY_OUTPUT_SIZE; index++) {
        if ((weights[index] > 0.0f) && (total <= wanted)) {
            number = index;
        }
        total += weights[index];
    }
    return number;
}

int main(void)
{
    static char text[LENGTH + 1];
    float scores[STORY_OUTPUT_SIZE];

    for (int32_t place = 0; place < LENGTH; place++) {
        int64_t number = (place < (int32_t)strlen(prompt)) ? number_of(prompt[place]) : drawn(scores);

        if (story_run(&number, scores) != 0) {
            return 1;
        }
        text[place] = characters[number];
    }
    semihosting_write0(text + 1);
    semihosting_write0("\n");
    return 0;
}
