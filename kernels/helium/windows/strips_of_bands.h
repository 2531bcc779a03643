/* SPDX-License-Identifier: 0BSD */
#include "core/copies.h"

/* The strips of some rows of the output, strips.py; `place`: of the first row, in bytes. Two rows further is `strip_bytes` further. */
typedef struct {
    int32_t stride, height, place, strip_bytes;
    int32_t is_odd; /* whether strips have an odd number of rows: not each is stored twice */
} aidge_helium_strips;

/* The rows inside the image that windows see, and their place; `step`: from the first row to the next one, `again`: to the
 * second copy of the first row. */
typedef struct {
    int32_t rows, place, step, again, top;
} aidge_helium_seen;

/* For the rows of the output from `first` on. */
static aidge_helium_seen aidge_helium_see(int32_t first, int32_t in_height, int32_t top, const aidge_helium_strips *strips)
{
    const int32_t begin = first * strips->stride - top;
    const int32_t end = begin + strips->height < in_height ? begin + strips->height : in_height;
    const int32_t above = begin < 0 ? -begin : 0;
    const int is_second = (above % 2 != 0) ? 1 : 0;
    aidge_helium_seen seen;
    seen.rows = end - begin - above;
    seen.place = strips->place + above / 2 * strips->strip_bytes + above % 2;
    seen.step = is_second ? strips->strip_bytes - 1 : 1;
    seen.again = is_second && (strips->is_odd != 0) ? 0 : 2 - strips->strip_bytes;
    seen.top = above;
    return seen;
}
