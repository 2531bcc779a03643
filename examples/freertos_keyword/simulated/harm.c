/* SPDX-License-Identifier: MIT */
/* SIMULATED: what goes wrong. */
#include "harm.h"

#include "FreeRTOS.h"
#include "faults.h"
#include "inject.h"
#include "kept.h"
#include "keyword.h"
#include "mps2.h"
#include "slots.h"
#include "task.h"

extern uint8_t keyword_arena[];

enum { MILLISECOND = CLOCK_HZ / 1000 };

static void busy(uint32_t milliseconds)
{
    const uint32_t begin = COUNTER;

    while (COUNTER - begin < milliseconds * MILLISECOND) {
    }
}

static void stuck(void)
{
    for (;;) {
        __asm__ volatile("");
    }
}

static void undefined(void)
{
    __asm__ volatile("udf #0");
}

/* A bit of the weights in use, which are in a slot. */
static void flip(void)
{
    const uint32_t number = inject_random(6000u); /* a block is longer */
    uint8_t *const weights = (uint8_t *)(uintptr_t)slots_in_use();

    weights[number] ^= (uint8_t)(1u << inject_random(8u));
}

static void overflow(void)
{
    const StaticTask_t *const task = (const StaticTask_t *)xTaskGetCurrentTaskHandle();

    *(uint32_t *)task->pxDummy6 = 0u; /* the lowest word of the stack: the kernel sees it at the next change of tasks */
}

void harm(enum kind kind)
{
    switch (kind) {
    case SLOW: busy(25u + inject_random(60u)); break;
    case MASKED: taskENTER_CRITICAL(); busy(25u + inject_random(60u)); taskEXIT_CRITICAL(); break;
    case SILENT: injected.silence = 4u + inject_random(40u); break;
    case DEAF: injected.silence = 0xFFFFFFFFu; break;
    case BUSY: vTaskDelay(pdMS_TO_TICKS(200 + inject_random(80u))); break;
    case STUCK_LISTEN: case STUCK_ACT: case STUCK_RECEIVE: case UPDATE_AND_STUCK: stuck(); break;
    case FAULT_LISTEN: case FAULT_ACT: undefined(); break;
    case FAILED_ASSERT: configASSERT(kind == KINDS); break;
    case OVERFLOW: overflow(); break;
    case FLIP: flip(); break;
    case FLIP_AT_START: flip(); faults_restart((uint32_t)POWER_ON, 0u); break;
    case UPDATE: injected.offer = (uint32_t)WHOLE; break;
    case UPDATE_DAMAGED: injected.offer = (uint32_t)ONE_BIT_WRONG; break;
    case UPDATE_CUT: injected.offer = (uint32_t)CUT_OFF; break;
    case UPDATE_WRONG: injected.offer = (uint32_t)WRONG_ANSWERS; break;
    case ARENA: keyword_arena[KEYWORD_ARENA_BYTES - 1] ^= 1u; break;
    default: break;
    }
}
