/* SPDX-License-Identifier: 0BSD */
#include <stdint.h>
#include "kit/log_mel.h"

/* The front end is generated: one function for each length of the transform and type of the features. */
