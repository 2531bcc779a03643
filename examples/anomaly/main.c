/* SPDX-License-Identifier: MIT */
/* Listens to a pump: a score above 0 says that a window is unlike all of the sound machine. */
#include "anomaly.h"
#include "semihosting.h"
#include "windows.h"

int main(void)
{
    int32_t alarms = 0;

    for (int32_t number = 0; number < (int32_t)(sizeof windows / sizeof windows[0]); number++) {
        float score[ANOMALY_OUTPUT_SIZE];

        if (anomaly_run(windows[number], score) != 0) {
            return 1;
        }
        semihosting_write0("score in hundredths ");
        semihosting_write_integer((int32_t)(100.0f * score[0]));
        semihosting_write0(score[0] > 0.0f ? ": alarm\n" : "\n");
        alarms += (score[0] > 0.0f) == (number >= 2);
    }
    return alarms == 4 ? 0 : 1;
}
