/* SPDX-License-Identifier: 0BSD */
#include "kit/broadcast.h"
