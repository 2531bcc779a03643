/* SPDX-License-Identifier: MIT */
/* The task that listens: a frame of samples, the model in steps, a decision into the queue. */
#ifndef LISTEN_H
#define LISTEN_H

#include <stdint.h>

/* A decision says from which frames and with which weights it was made: anyone can compute it again. */
struct decision {
    uint32_t frame;   /* the newest frame that it heard */
    uint32_t since;   /* the first frame that it heard: from there on no frame is missing */
    uint32_t version; /* of the weights */
    uint32_t sound;   /* the digest of the frame's samples */
    uint8_t label;    /* the model's label of this frame */
    uint8_t word;     /* a word that was said, or 0 */
};

void listen_start(void);

/* Waits for a decision; returns 0 where none came. */
int listen_next(struct decision *decision);

#endif
