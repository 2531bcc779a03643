/* SPDX-License-Identifier: MIT */
/* Eight thermistors along a board: mean temperature, slope, and the hottest place. */
#include "semihosting.h"
#include "thermal.h"

static const char *const names[THERMAL_OUTPUT_SIZE] = {"mean", "slope", "hottest"};

int main(void)
{
    static const float volts[THERMAL_INPUT_SIZE] = {0.50f, 0.51f, 0.52f, 0.55f, 0.60f, 0.70f, 0.62f, 0.58f};
    float degrees[THERMAL_OUTPUT_SIZE];

    if (thermal_run(volts, degrees) != 0) {
        return 1;
    }
    for (int32_t index = 0; index < THERMAL_OUTPUT_SIZE; index++) {
        semihosting_write0(names[index]);
        semihosting_write0(" in hundredths of a degree: ");
        semihosting_write_integer((int32_t)(100.0f * degrees[index]));
        semihosting_write0("\n");
    }
    return 0;
}
