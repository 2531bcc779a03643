/* SPDX-License-Identifier: MIT */
/* Hears sounds as a microphone would deliver them, 20 ms at a time, and says which word each was. */
#include <stdint.h>

#include "keyword.h"
#include "semihosting.h"
#include "sounds.h"

#define HOP KEYWORD_INPUT_SIZE

int main(void)
{
    int32_t right = 0;

    for (int32_t number = 0; number < SOUNDS; number++) {
        int64_t label = 0;

        keyword_reset(); /* another recording */
        for (int32_t sample = 0; sample + HOP <= SAMPLES; sample += HOP) {
            if (keyword_run(&sounds[number][sample], &label) != 0) {
                return 1;
            }
        }
        semihosting_write0(words[label]);
        semihosting_write0(label == (int64_t)labels[number] ? " " : "? ");
        right += label == (int64_t)labels[number];
    }
    semihosting_write0("\n");
    semihosting_write_integer(right);
    semihosting_write0(" of ");
    semihosting_write_integer(SOUNDS);
    semihosting_write0(" right\n");
    return right >= SOUNDS - 2 ? 0 : 1;
}
