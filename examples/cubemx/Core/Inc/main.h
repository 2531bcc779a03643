/* SPDX-License-Identifier: MIT */
#ifndef __MAIN_H
#define __MAIN_H

#include <stdint.h>

/* The registers that this project uses: RM0390, chapters RCC, GPIO and USART. */
#define RCC_CR (*(volatile uint32_t *)0x40023800)
#define RCC_CFGR (*(volatile uint32_t *)0x40023808)
#define RCC_AHB1ENR (*(volatile uint32_t *)0x40023830)
#define RCC_APB1ENR (*(volatile uint32_t *)0x40023840)
#define GPIOA_MODER (*(volatile uint32_t *)0x40020000)
#define GPIOA_AFRL (*(volatile uint32_t *)0x40020020)
#define USART2_SR (*(volatile uint32_t *)0x40004400)
#define USART2_DR (*(volatile uint32_t *)0x40004404)
#define USART2_BRR (*(volatile uint32_t *)0x40004408)
#define USART2_CR1 (*(volatile uint32_t *)0x4000440C)

void Error_Handler(void);

/* USER CODE BEGIN EFP */

/* USER CODE END EFP */

#endif /* __MAIN_H */
