/* SPDX-License-Identifier: MIT */
/* The task that acts on decisions. */
#ifndef ACT_H
#define ACT_H

void act_start(void);

#endif
