/* SPDX-License-Identifier: MIT */
/* Memory that a reset leaves as it is: the record of the last fault, and statistics since power came on. */
#ifndef KEPT_H
#define KEPT_H

#include <stdint.h>

/* Counts of frames by their fate; a product reads these numbers out in service. */
enum count {
    HEARD,    /* inferences that ended in time */
    MISSED,   /* frames that were overwritten before anyone listened to them */
    LATE,     /* inferences that were left because their samples were overwritten meanwhile */
    FULL,     /* decisions for which the queue had no room */
    WITHHELD, /* decisions that were not acted on because the weights had changed since */
    ACTED,    /* decisions that were acted on */
    REFUSED,  /* blocks of weights that arrived damaged or for other code */
    ADOPTED,  /* blocks of weights that went into use */
    COUNTS
};

enum reason { POWER_ON, HARD_FAULT, ASSERTION, STACK_OVERFLOW, WATCHDOG, WEIGHTS_DAMAGED, WEIGHTS_FAILED, MEMORY_DAMAGED, REASONS };

struct kept {
    uint32_t magic;
    uint32_t frames; /* that the microphone delivered: frame numbers continue after a reset */
    uint32_t starts;
    uint32_t asleep; /* microseconds */
    volatile uint32_t counts[COUNTS];
    /* The record of the last reset. */
    uint32_t reason, frame, detail, pc, lr, cfsr;
    char task[8];
};

extern struct kept kept;

#endif
