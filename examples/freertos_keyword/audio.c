/* SPDX-License-Identifier: MIT */
#include "audio.h"

#include "FreeRTOS.h"
#include "kept.h"
#include "keyword.h"
#include "microphone.h"
#include "task.h"
#include "watchdog.h"

static int16_t halves[2][KEYWORD_INPUT_SIZE];
static uint32_t first; /* the number of the frame before the first one of this run */
static TaskHandle_t listener;

void audio_start(void)
{
    first = kept.frames;
    listener = xTaskGetCurrentTaskHandle();
    microphone_start(halves[0], KEYWORD_INPUT_SIZE);
}

/* The number of the newest frame, by the DMA's own count: it is right even where interrupts came late, and two became one. */
static uint32_t newest(void)
{
    return first + microphone_halves();
}

/* The DMA has filled a half. */
void audio_interrupt(void)
{
    BaseType_t is_woken = pdFALSE;

    kept.frames = newest();
    watchdog_advanced(AUDIO);
    vTaskNotifyGiveFromISR(listener, &is_woken);
    portYIELD_FROM_ISR(is_woken);
}

uint32_t audio_wait(void)
{
    (void)ulTaskNotifyTake(pdTRUE, portMAX_DELAY);
    return newest();
}

const int16_t *audio_samples(uint32_t frame)
{
    return halves[(frame - first - 1u) % 2u];
}

uint32_t audio_digest(uint32_t frame)
{
    const int16_t *const samples = audio_samples(frame);
    uint32_t digest = 0u;

    for (uint32_t at = 0; at < (uint32_t)KEYWORD_INPUT_SIZE; at++) {
        digest = 31u * digest + (uint16_t)samples[at];
    }
    return digest;
}

int audio_is_whole(uint32_t frame)
{
    return newest() == frame;
}
