/* SPDX-License-Identifier: MIT */
/* Two switches, one lamp: it is on where exactly one switch is. */
#include "hello.h"
#include "semihosting.h"

int main(void)
{
    int32_t right = 0;

    for (int32_t number = 0; number < 4; number++) {
        const float switches[HELLO_INPUT_SIZE] = {(float)(number & 1), (float)(number >> 1)};
        float lamp[HELLO_OUTPUT_SIZE];

        if (hello_run(switches, lamp) != 0) {
            return 1;
        }
        semihosting_write_integer(number & 1);
        semihosting_write0(" and ");
        semihosting_write_integer(number >> 1);
        semihosting_write0(lamp[0] > 0.5f ? ": on\n" : ": off\n");
        right += (lamp[0] > 0.5f) == ((number & 1) != number >> 1);
    }
    return right == 4 ? 0 : 1;
}
