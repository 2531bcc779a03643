/* SPDX-License-Identifier: 0BSD */
#include "dense.h"

typedef struct {
    int32_t batches, channels, image_bytes, stream_bytes;
} aidge_cortexm_depthwise_pixel;

#if !AIDGE_CORTEXM_FPU
/* A depthwise convolution of one output pixel: the C version of the generated functions of this name. `places` [taps]: the byte of
 * the first channel of each tap in the image. */
AIDGE_CORTEXM_C void aidge_cortexm_depthwise_pixel_int8(const int8_t *input, int8_t *output, const int32_t *stream,
                                                        const aidge_cortexm_depthwise_pixel *shape, const int16_t *places,
                                                        int32_t taps, int32_t packed, int32_t shift, int32_t form)
{
    const int32_t *const end = stream + shape->stream_bytes / 4;
    const int32_t last = shape->channels - 4;
    int32_t batch, tap, channel;
    for (batch = shape->batches; batch > 0; batch--) {
        const int32_t *group = stream + AIDGE_CORTEXM_HEAD_WORDS;
        int32_t first = 0;
        while (group != end) {
            const int32_t *const start = group;
            uint32_t sums[4];
            group = aidge_cortexm_biases(group, sums, packed);
            for (tap = 0; tap < taps; tap++) {
                for (channel = 0; channel < 4; channel++) {
                    const uint32_t pair = (uint32_t)group[channel];
                    const int32_t weight = (tap & 1) != 0 ? aidge_cortexm_high(pair) : aidge_cortexm_low(pair);
                    sums[channel] += (uint32_t)(weight * input[places[tap] + first + channel]);
                }
                group += ((tap & 1) != 0) || (tap + 1 == taps) ? 4 : 0;
            }
            group = aidge_cortexm_store_group(sums[0], sums[1], sums[2], sums[3], start, group, output, stream, packed, shift, form);
            output += form < 0 ? 0 : 4;
            first = first + 4 < last ? first + 4 : last;
        }
        input += shape->image_bytes;
        output += form < 0 ? shape->channels : 0;
    }
}
#endif
