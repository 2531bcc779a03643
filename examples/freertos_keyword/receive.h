/* SPDX-License-Identifier: MIT */
/* The task that receives new weights, while all others go on. */
#ifndef RECEIVE_H
#define RECEIVE_H

void receive_start(void);

#endif
