/* SPDX-License-Identifier: MIT */
#include "listen.h"

#include "FreeRTOS.h"
#include "audio.h"
#include "decide.h"
#include "faults.h"
#include "inject.h"
#include "kept.h"
#include "keyword.h"
#include "queue.h"
#include "slots.h"
#include "task.h"
#include "stacks.h"
#include "watchdog.h"

enum { WAITING = 8 }; /* decisions: 160 ms */

static StackType_t listen_stack[LISTEN_WORDS];
static StaticTask_t task;
static uint8_t storage[WAITING * sizeof(struct decision)];
static StaticQueue_t queue_memory;
static QueueHandle_t queue;

int listen_next(struct decision *decision)
{
    return xQueueReceive(queue, decision, portMAX_DELAY) == pdTRUE;
}

/* The stream is broken or the weights are others: what the model remembers no longer fits. */
static uint32_t begin_again(uint32_t after)
{
    keyword_cancel();
    keyword_reset();
    decide_reset();
    return after + 1u;
}

/* One inference, in steps that leave as soon as the samples are overwritten; returns whether label and digest count. */
static int hear(uint32_t frame, int64_t *label, uint32_t *sound)
{
    int code = keyword_begin(audio_samples(frame), label) == KEYWORD_OK ? KEYWORD_MORE : KEYWORD_DAMAGED;

    while (code == KEYWORD_MORE) {
        inject(AT_STEP);
        code = audio_is_whole(frame) ? keyword_step() : KEYWORD_ORDER;
    }
    if (code != KEYWORD_OK && code != KEYWORD_ORDER) {
        faults_restart((uint32_t)MEMORY_DAMAGED, (uint32_t)code);
    }
    *sound = audio_digest(frame);
    return code == KEYWORD_OK && audio_is_whole(frame);
}

static void hand_over(const struct decision *decision)
{
    if (xQueueSend(queue, decision, 0) == pdTRUE) {
        watchdog_advanced(DECIDE);
    } else {
        kept.counts[FULL]++;
    }
}

static void listen(void *unused)
{
    uint32_t last = kept.frames, since = begin_again(last);

    (void)unused;
    audio_start();
    for (;;) {
        const uint32_t frame = audio_wait();
        int64_t label = 0;
        uint32_t sound = 0u;

        if (frame == last) {
            continue; /* a second notification of the same frame */
        }
        if (slots_take_new()) {
            since = begin_again(frame - 1u);
        }
        if (frame != last + 1u) {
            kept.counts[MISSED] += frame - last - 1u;
            since = begin_again(frame - 1u);
        }
        last = frame;
        if (hear(frame, &label, &sound)) {
            const uint32_t word = decide((uint32_t)label);
            const struct decision made = {frame, since, slots_version(), sound, (uint8_t)label, (uint8_t)word};

            kept.counts[HEARD]++;
            watchdog_advanced(LISTEN);
            hand_over(&made);
        } else {
            kept.counts[LATE]++;
            since = begin_again(frame);
        }
    }
}

void listen_start(void)
{
    queue = xQueueCreateStatic(WAITING, sizeof(struct decision), storage, &queue_memory);
    (void)xTaskCreateStatic(listen, "listen", LISTEN_WORDS, 0, LISTEN_PRIORITY, listen_stack, &task);
}
