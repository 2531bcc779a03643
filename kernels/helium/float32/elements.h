/* SPDX-License-Identifier: 0BSD */
#include <string.h>
#include "core/helium.h"
#include "kit/broadcast.h"
