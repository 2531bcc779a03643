/* SPDX-License-Identifier: 0BSD */
#include "kit/average.h"
#include "pixel_sums.h"

/* The mean over all pixels, int8, channels last, at least 4 channels; numbers as in kit/average.h. */
static void aidge_cortexm_average_int8(const int8_t *input, int8_t *output, const int32_t *numbers, int32_t batches, int32_t pixels,
                                       int32_t channels)
{
    for (; batches > 0; batches--) {
        int32_t channel;
        for (channel = 0; channel < channels; channel += 4) {
            const int32_t place = channel + 4 <= channels ? channel : channels - 4; /* the last 4 overlap those before */
            int32_t sums[4];
            aidge_cortexm_sums_of_4(input + place, pixels, channels, sums);
            output[place] = aidge_kit_average(sums[0], numbers);
            output[place + 1] = aidge_kit_average(sums[1], numbers);
            output[place + 2] = aidge_kit_average(sums[2], numbers);
            output[place + 3] = aidge_kit_average(sums[3], numbers);
        }
        input += pixels * channels;
        output += channels;
    }
}
