/* SPDX-License-Identifier: MIT */
/* The faults that inject.c chooses from. */
#ifndef HARM_H
#define HARM_H

enum kind {
    SLOW, MASKED, SILENT, BUSY, STUCK_LISTEN, STUCK_ACT, STUCK_RECEIVE, DEAF, FAULT_LISTEN, FAULT_ACT, FAILED_ASSERT, OVERFLOW,
    FLIP, FLIP_AT_START, UPDATE, UPDATE_AND_STUCK, UPDATE_DAMAGED, UPDATE_CUT, UPDATE_WRONG,
    ARENA, KINDS
};

/* Does it; some of these do not return. */
void harm(enum kind kind);

#endif
