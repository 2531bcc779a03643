/* SPDX-License-Identifier: MIT */
/* The tasks of the product: priorities (a larger number is more urgent), and stacks in words. `aidge-build check` proves that each
 * stack is large enough (SConstruct). */
#ifndef STACKS_H
#define STACKS_H

enum { RECEIVE_PRIORITY = 1, ACT_PRIORITY = 2, LISTEN_PRIORITY = 3 };
enum { RECEIVE_WORDS = 128, ACT_WORDS = 128, LISTEN_WORDS = 192 };

#endif
