/* SPDX-License-Identifier: MIT */
/* The kernel as this product uses it: static memory only, sleep without ticks, every check of the kernel on. */
#ifndef FREERTOS_CONFIG_H
#define FREERTOS_CONFIG_H

#include <stdint.h>

#include "faults.h"
#include "sleep.h"

#define configCPU_CLOCK_HZ 25000000u
#define configTICK_RATE_HZ 1000u
#define configTICK_TYPE_WIDTH_IN_BITS TICK_TYPE_WIDTH_32_BITS
#define configMAX_PRIORITIES 4
#define configMAX_TASK_NAME_LEN 8
#define configMINIMAL_STACK_SIZE 128u
#define configUSE_PREEMPTION 1
#define configUSE_TIME_SLICING 0
#define configUSE_PORT_OPTIMISED_TASK_SELECTION 1
#define configUSE_TASK_NOTIFICATIONS 1
#define configUSE_TIMERS 0
#define configUSE_MUTEXES 0
#define configUSE_IDLE_HOOK 0
#define configUSE_TICK_HOOK 0

/* Nothing is allocated: the linker knows every byte. */
#define configSUPPORT_STATIC_ALLOCATION 1
#define configSUPPORT_DYNAMIC_ALLOCATION 0
#define configKERNEL_PROVIDED_STATIC_MEMORY 1

/* Sleep: the tick stops while every task waits. */
#define configUSE_TICKLESS_IDLE 1
#define configPRE_SLEEP_PROCESSING(ticks) sleep_until_interrupt(&(ticks))

/* A failed check of the kernel is recorded, and the product starts again. */
#define configCHECK_FOR_STACK_OVERFLOW 2
#define configASSERT(holds) ((holds) ? (void)0 : faults_assertion(__LINE__))

/* Interrupts from this priority on (a smaller number is more urgent) may not call the kernel, and are never masked by it. */
#define configMAX_SYSCALL_INTERRUPT_PRIORITY 0x40u
#define configKERNEL_INTERRUPT_PRIORITY 0xFFu

#define vPortSVCHandler SVC_Handler
#define xPortPendSVHandler PendSV_Handler
#define xPortSysTickHandler SysTick_Handler

#define INCLUDE_vTaskDelay 1
#define INCLUDE_vTaskSuspend 1
#define INCLUDE_xTaskGetCurrentTaskHandle 1
#define INCLUDE_xTaskGetSchedulerState 1
#define INCLUDE_uxTaskGetStackHighWaterMark 1

#endif
