/* SPDX-License-Identifier: MIT */
#include "receive.h"

#include "FreeRTOS.h"
#include "flash.h"
#include "inject.h"
#include "kept.h"
#include "radio.h"
#include "slots.h"
#include "stacks.h"
#include "task.h"
#include "watchdog.h"

enum { PIECE = 256, POLL = 100, PAUSE = 10 }; /* bytes, milliseconds */

static StackType_t receive_stack[RECEIVE_WORDS];
static StaticTask_t task;

/* Writes a block into a slot, piece by piece. Until its last piece arrives the slot holds no block that anyone would use. */
static void receive_into(uint8_t *slot, uint32_t bytes)
{
    static uint8_t piece[PIECE];

    flash_erase(slot, SLOT_BYTES);
    for (uint32_t written = 0; written < bytes; written += PIECE) {
        const uint32_t size = bytes - written < (uint32_t)PIECE ? bytes - written : (uint32_t)PIECE;

        radio_read(piece, size);
        flash_program(slot + written, piece, size);
        watchdog_advanced(RECEIVE);
        vTaskDelay(pdMS_TO_TICKS(PAUSE));
    }
    (void)slots_offer(slot);
}

static void receive(void *unused)
{
    (void)unused;
    for (;;) {
        uint8_t *const slot = slots_spare();
        const uint32_t bytes = slot ? radio_offer() : 0u;

        if (bytes > (uint32_t)SLOT_BLOCK) {
            kept.counts[REFUSED]++;
        } else if (bytes > 0u) {
            receive_into(slot, bytes);
        } else {
            /* no new weights */
        }
        inject(AT_RECEIVE);
        watchdog_advanced(RECEIVE);
        vTaskDelay(pdMS_TO_TICKS(POLL));
    }
}

void receive_start(void)
{
    (void)xTaskCreateStatic(receive, "receive", RECEIVE_WORDS, 0, RECEIVE_PRIORITY, receive_stack, &task);
}
