/* SPDX-License-Identifier: MIT */
/* A listener: microphone -> listen -> queue -> act, with weights that are replaced in the field. README.md has the picture. */
#include "FreeRTOS.h"
#include "act.h"
#include "console.h"
#include "faults.h"
#include "inject.h"
#include "listen.h"
#include "receive.h"
#include "slots.h"
#include "task.h"
#include "watchdog.h"

int main(void)
{
    console_start();
    faults_start();
    inject_start();
    watchdog_start();
    if (!slots_start()) {
        console_text("no whole weights: the product stays silent\n");
        return 1;
    }
    listen_start();
    act_start();
    receive_start();
    vTaskStartScheduler();
    return 1; /* the scheduler does not return */
}
