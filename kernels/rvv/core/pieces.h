/* SPDX-License-Identifier: 0BSD */
#include "kit/broadcast_pieces.h"
