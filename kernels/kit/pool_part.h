/* SPDX-License-Identifier: 0BSD */
#include <stdint.h>
#include <string.h>

/* Some pixels of a map, channels last, that a pool over the whole map takes in: how many, how many came before them, how many
 * there are. Scratch that is kept begins as zeros. */
typedef struct {
    int32_t pixels, before, all, channels, is_last;
} aidge_kit_part;

/* Forgets what was kept before the first part. */
static inline void aidge_kit_begin_part(void *kept, int32_t bytes, const aidge_kit_part *part)
{
    if (part->before == 0) {
        (void)memset(kept, 0, (size_t)bytes);
    }
}
