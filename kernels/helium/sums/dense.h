/* SPDX-License-Identifier: 0BSD */
#include "core/helium.h"

#if !AIDGE_HELIUM_ASSEMBLY
/*
 * y = requantize(x * weights + bias).
 *
 * stream: int32 {input zero point, zero point or the number of rounding.py, lowest, highest}; for each eight outputs int32 biases
 *   and, for each 16 inputs, 16 weights of outputs 0 4 2 6 1 5 3 7; then numbers of outputs 0 2 4 6 1 3 5 7: with `offsets` int32
 *   offsets of the weights (finer.py), with `bits` int32 fractions of the biases; float multipliers, with `fixed` (rounding.py)
 *   int32 ones, then int32 shifts. With `apart` the last group has biases and weights of so many outputs alone.
 *   With `uniform` (4, else 0) one multiplier follows the head, and stands in no group.
 * Ranges: the generator has proved that no sum leaves int32; partial sums may wrap around.
 */
static void aidge_helium_dense(const int8_t *x, int8_t *y, const int8_t *stream, int32_t inputs, int32_t outputs,
                               int32_t bits, int32_t apart, int32_t fixed, int32_t offsets, int32_t uniform)
{
    static const int32_t places[8] = {0, 4, 2, 6, 1, 5, 3, 7};
    const int32_t vectors = (inputs + 15) / 16;
    int32_t output, input, other;
    int32_t row = 0;
    aidge_kit_levels levels;
    levels.zero_point = (int16_t)(aidge_helium_word(stream + 4) & 0xFFFF);
    levels.lowest = aidge_helium_word(stream + 8) - levels.zero_point;
    levels.highest = aidge_helium_word(stream + 12) - levels.zero_point;
    for (input = 0; input < inputs; input++) {
        row += x[input];
    }
    for (output = 0; output < outputs; output++) {
        const int32_t words = (uniform != 0 ? 8 : 16) + (bits != 0 ? 8 : 0) + (fixed != 0 ? 8 : 0) + (offsets != 0 ? 8 : 0);
        const int8_t *group = stream + 16 + uniform + (output / 8) * (vectors * 128 + 4 * words);
        const int32_t count = (apart != 0) && (output / 8 == outputs / 8) ? apart : 8;
        const int8_t *w;
        int32_t place = 0;
        uint32_t sum;
        for (other = 0; other < places[output & 7]; other++) {
            place += places[other] < count;
        }
        sum = (uint32_t)aidge_helium_word(group + 4 * place);
        w = group + 4 * count + 16 * place;
        for (input = 0; input < inputs; input++) {
            sum += (uint32_t)(x[input] * w[(input / 16) * 16 * count + (input & 15)]);
        }
        group += 4 * count + 16 * count * vectors + 4 * ((output & 1) * 4 + (output & 7) / 2);
        if (offsets != 0) {
            sum += (uint32_t)row * (uint32_t)aidge_helium_word(group);
            group += 32;
        }
        if (bits != 0) {
            sum = (sum << bits) + (uint32_t)aidge_helium_word(group);
            group += 32;
        }
        y[output] = fixed == 0 ? aidge_kit_requantize((int32_t)sum, aidge_helium_float(uniform != 0 ? stream + 16 : group), levels)
                               : aidge_helium_fixed((int32_t)sum, aidge_helium_word(group), aidge_helium_word(group + 32),
                                                    fixed, levels);
    }
}
#endif
