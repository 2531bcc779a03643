/* SPDX-License-Identifier: 0BSD */
#include <stdint.h>

/*
 * A window that slides over up to 3 spatial axes of row-major tensors [batches][channels][in...]. Taps outside are left out.
 * `ends` is one past the last position that a mean over pads counts.
 */
typedef struct {
    int32_t batches, in_channels, out_channels, groups;
    int32_t in[3], out[3], kernel[3], strides[3], dilations[3], pads[3], ends[3];
} aidge_ref_window3d;

/* The position of a tap, or -1 outside of the input. */
static inline int32_t aidge_ref_tap3d(const aidge_ref_window3d *shape, int32_t axis, int32_t out, int32_t tap)
{
    const int32_t place = out * shape->strides[axis] - shape->pads[axis] + tap * shape->dilations[axis];
    return (place < 0) || (place >= shape->in[axis]) ? -1 : place;
}
