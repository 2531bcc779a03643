/* SPDX-License-Identifier: MIT */
/* A firmware that recognizes gestures of an accelerometer, for ever. Each macro makes one mistake. */
#include <math.h>
#include <stdint.h>

#include "gesture.h"
#include "windows.h" /* int16_t windows[WINDOWS][32][3]: x, y, z of each sample, 2048 for 1 g */

#define REGISTER(address) (*(volatile uint32_t *)(address))

extern uint32_t SystemCoreClock;
volatile uint8_t answers[WINDOWS];
volatile uint32_t ticks_of_a_millisecond;
static int8_t input[GESTURE_INPUT_SIZE], scores[GESTURE_OUTPUT_SIZE];
int16_t frame[32][3] __attribute__((aligned(32)));

static int8_t level(float real)
{
#if defined(WRONG_SCALE)
    const float value = rintf(real * 128.0f);
#else
    const float value = rintf(real / GESTURE_INPUT_SCALE) + GESTURE_INPUT_ZERO_POINT;
#endif
    return (int8_t)(value < -128.0f ? -128.0f : value > 127.0f ? 127.0f : value);
}

/* The model reads 32 values of each axis; the sensor's FIFO has three axes of each sample. */
static void prepare(int16_t window[32][3])
{
    for (int at = 0; at < 32; at++)
        for (int axis = 0; axis < 3; axis++)
#if defined(WRONG_ORDER) || defined(BY_ROWS)
            input[3 * at + axis] = level((float)window[at][axis] / 2048.0f);
#else
            input[32 * axis + at] = level((float)window[at][axis] / 2048.0f);
#endif
}

static int highest(void)
{
    int best = 0;
    for (int class = 1; class < GESTURE_OUTPUT_SIZE; class++)
#if defined(UNSIGNED_SCORES)
        if ((uint8_t)scores[class] > (uint8_t)scores[best])
#else
        if (scores[class] > scores[best])
#endif
            best = class;
    return best;
}

#if defined(OWN_ARENA) /* bytes from an aligned address */
static uint8_t pool[GESTURE_ARENA_BYTES + 16] __attribute__((aligned(16)));
#endif

#if defined(IN_STEPS)
#if defined(OWN_ARENA)
static gesture_instance instance;
#define BEGIN() gesture_begin(&instance, input, scores)
#define STEP() gesture_step(&instance)
#else
#define BEGIN() gesture_begin(input, scores)
#define STEP() gesture_step()
#endif

/* Each round of the loop asks again for an inference, which begins when the one before is over. */
static void run_in_steps(void)
{
#if defined(OWN_ARENA)
    (void)gesture_init(&instance, pool + OWN_ARENA);
#endif
    if (BEGIN() == GESTURE_OK)
        while (STEP() == GESTURE_MORE)
            (void)BEGIN();
}
#endif

static int infer(void)
{
#if defined(BY_ROWS) /* each sample when the sensor has it */
    (void)gesture_begin(scores);
    for (int at = 0; at < GESTURE_INPUT_ROWS; at++)
        (void)gesture_push_input(&input[GESTURE_INPUT_ROW_BYTES * at], 1);
    (void)gesture_end();
#elif defined(IN_STEPS)
    run_in_steps();
#elif defined(OWN_ARENA)
    (void)gesture_run(pool + OWN_ARENA, input, scores);
#else
    (void)gesture_run(input, scores);
#endif
    return highest();
}

#if defined(TWO_CALLERS)
static int8_t early[GESTURE_INPUT_SIZE], guess[GESTURE_OUTPUT_SIZE];
void SysTick_Handler(void)
{
    (void)gesture_run(early, guess);
}
#endif

#if defined(DATA_CACHE)
static void enable_cache(void)
{
    const uint32_t size = (REGISTER(0xE000ED84u) = 0u, REGISTER(0xE000ED80u));
    for (uint32_t set = 0; set <= (size >> 13 & 0x7FFFu); set++)
        for (uint32_t way = 0; way <= (size >> 3 & 0x3FFu); way++)
            REGISTER(0xE000EF60u) = way << 30 | set << 5; /* DCISW */
    __asm__ volatile("dsb");
    REGISTER(0xE000ED14u) |= 1u << 16; /* CCR */
    __asm__ volatile("dsb\n\tisb");
}
#endif

/* A transfer of the sensor's window by DMA; the emulator has no DMA, so the core copies the bytes. */
static void receive(const int16_t window[32][3])
{
    for (int at = 0; at < 96; at++)
        ((volatile int16_t *)frame)[at] = window[0][at];
#if defined(INVALIDATED)
    for (uint32_t line = (uint32_t)frame; line < (uint32_t)frame + sizeof frame; line += 32u)
        REGISTER(0xE000EF5Cu) = line; /* DCIMVAC */
    __asm__ volatile("dsb");
#endif
}

static void set_clock(void)
{
    SystemCoreClock = 168000000u; /* PLL, wait states and prefetch, in a real firmware */
}

int main(void)
{
#if !defined(WITHOUT_PLL)
    set_clock();
#endif
    ticks_of_a_millisecond = SystemCoreClock / 1000u;
#if defined(DATA_CACHE)
    enable_cache();
#endif
#if defined(TWO_CALLERS)
    REGISTER(0xE000E014u) = 249999u; /* SysTick interrupts the main loop, 100 times a second of an MPS2 */
    REGISTER(0xE000E018u) = 0u;
    REGISTER(0xE000E010u) = 7u;
#endif
    for (;;)
        for (int window = 0; window < WINDOWS; window++) {
            receive(windows[window]);
            prepare(frame);
            answers[window] = (uint8_t)infer();
        }
}
