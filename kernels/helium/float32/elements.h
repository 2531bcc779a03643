/* SPDX-License-Identifier: 0BSD */
#include <string.h>
#include "limited.h"
#include "kit/broadcast.h"
