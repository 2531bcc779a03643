/* SPDX-License-Identifier: 0BSD */
#include "dynamic_data.h"
#include "product_window.h"

/* Numbers of pairs of channels that depend on the data, of the stream that begins with the weights of the first pair: int32 {sums of
 * the weights times the zero point}, float {factors times the scale}, of both channels. */
AIDGE_KIT_INLINE void aidge_helium_prepare(const int8_t *pair, int32_t weight_bytes, int32_t *prepared, const aidge_helium_data *data)
{
    int32_t step, channel;
    do {
        const int8_t *const found = pair + weight_bytes;
        for (channel = 0; channel < 2; channel++) {
            const float factor = aidge_helium_float(found + 16 + 4 * channel) * data->scale;
            prepared[channel] = (int32_t)((uint32_t)aidge_helium_word(found + 8 + 4 * channel) * (uint32_t)data->zero_point);
            (void)memcpy(&prepared[2 + channel], &factor, sizeof factor);
        }
        step = aidge_helium_word(found + 32);
        pair = found + 36;
        prepared += 4;
    } while (step != 0);
}

#if !AIDGE_HELIUM_ASSEMBLY
/*
 * As aidge_helium_product, for unsigned bytes whose zero point and scale are in `data`, or what follows from them in `prepared`; the
 * result is float32.
 *
 * stream: 16 bytes of offsets, 4 that are not used, with `offsets` a window of ones, then for each pair of output channels the weights + 128, int32
 *   {what the weights lack}, {sums of the weights}, float {factor}, {bias}, each of both channels, and int32 how many bytes further
 *   the next pair is stored; 0 after the last one.
 */
static void aidge_helium_dynamic(const int8_t *x, int8_t *const *rows, float *y, const int8_t *stream, int32_t blocks,
                                 const aidge_helium_data *data, const int32_t *prepared, float lowest, float highest,
                                 const aidge_helium_product_shape *shape)
{
    const int32_t window_bytes = aidge_helium_window_bytes(shape);
    int32_t pixel, channel;
    for (pixel = 0; pixel < blocks * shape->pixels; pixel++) {
        const int8_t *pair = stream + 20 + (shape->offsets != 0 ? window_bytes : 0);
        const int32_t *known = prepared;
        const uint32_t window = shape->offsets != 0 ? aidge_helium_window(x, rows, stream + 20, 0, 1, shape) : 0u;
        int32_t step;
        do {
            const int8_t *const found = pair + 2 * window_bytes;
            for (channel = 0; channel < 2; channel++) {
                const int8_t *const own = found + 4 * channel;
                uint32_t sum = aidge_helium_window(x, rows, pair, channel, 2, shape);
                float factor;
                sum += window * (uint32_t)aidge_helium_word(own);
                if (known != NULL) {
                    sum += (uint32_t)known[channel];
                    (void)memcpy(&factor, &known[2 + channel], sizeof factor);
                } else {
                    sum += (uint32_t)aidge_helium_word(own + 8) * (uint32_t)data->zero_point;
                    factor = aidge_helium_float(own + 16) * data->scale;
                }
                factor = (float)(int32_t)sum * factor + aidge_helium_float(own + 24);
                factor = factor < lowest ? lowest : factor;
                y[channel] = factor > highest ? highest : factor;
            }
            step = aidge_helium_word(found + 32);
            y += step / 4;
            pair = found + 36;
            known = known != NULL ? known + 4 : NULL;
        } while (step != 0);
        y += 2;
        x += shape->pixel_step;
    }
}
#endif
