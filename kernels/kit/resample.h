/* SPDX-License-Identifier: 0BSD */
#include <stdint.h>
#include "inline.h"

/*
 * The dims of the output in storage order, slowest axis first, and how many input elements each output element of an axis looks
 * at; behind them `run` elements that lie side by side on both sides.
 */
typedef struct {
    int32_t dims[5], taps[5], run;
} aidge_kit_resample_shape;

/*
 * Writes {offset, share} of each input element that counts for one output position to `list`; returns the end of the list.
 * place: where the lists of its offsets and shares along each axis begin.
 */
AIDGE_KIT_NOINLINE int32_t *aidge_kit_resample_list(int32_t *list, const int32_t *offsets, const int32_t *shares,
                                                         const int32_t *place, const int32_t *taps)
{
    int32_t *end = list + 2;
    int32_t axis;
    list[0] = 0;
    list[1] = 1;
    for (axis = 0; axis < 5; axis++) {
        int32_t *const last = end;
        int32_t *from;
        int32_t *to;
        int32_t tap;
        if (taps[axis] == 1) {
            for (from = list; from != last; from += 2) {
                from[0] += offsets[place[axis]];
                from[1] *= shares[place[axis]];
            }
            continue;
        }
        /* Behind the list, then to its place: every element so far with every tap of this axis. */
        for (from = list; from != last; from += 2) {
            for (tap = place[axis]; tap < place[axis] + taps[axis]; tap++) {
                if (shares[tap] != 0) {
                    end[0] = from[0] + offsets[tap];
                    end[1] = from[1] * shares[tap];
                    end += 2;
                }
            }
        }
        to = list;
        for (from = last; from != end; from++) {
            *to++ = *from;
        }
        end = to;
    }
    return end;
}

/* Sets `place` to the lists of the first output position; returns the end of all lists. */
AIDGE_KIT_INLINE int32_t aidge_kit_first_resample(int32_t *place, const aidge_kit_resample_shape *shape)
{
    int32_t total = 0;
    int32_t axis;
    AIDGE_KIT_ROLLED
    for (axis = 0; axis < 5; axis++) {
        place[axis] = total;
        total += shape->dims[axis] * shape->taps[axis];
    }
    return total;
}

/* Whether the output position lies outside of the data. */
AIDGE_KIT_INLINE int32_t aidge_kit_resamples_outside(const int32_t *offsets, const int32_t *place)
{
    int32_t outside = 0;
    int32_t axis;
    AIDGE_KIT_ROLLED
    for (axis = 0; axis < 5; axis++) {
        outside |= offsets[place[axis]] < 0 ? 1 : 0;
    }
    return outside;
}

/* To the next output position; 0 behind the last one. last: the end of all lists. */
AIDGE_KIT_INLINE int32_t aidge_kit_next_resample(int32_t *place, int32_t last, const aidge_kit_resample_shape *shape)
{
    int32_t axis;
    AIDGE_KIT_ROLLED
    for (axis = 4; axis >= 0; axis--) {
        place[axis] += shape->taps[axis];
        if (place[axis] < last) {
            return 1;
        }
        last -= shape->dims[axis] * shape->taps[axis];
        place[axis] = last;
    }
    return 0;
}
