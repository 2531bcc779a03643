/* SPDX-License-Identifier: MIT */
/* USER CODE BEGIN Header */
/* The digits of ../../../digits on a Nucleo-F446RE: the result goes to the ST-LINK's serial port, 115200 baud. */
/* USER CODE END Header */
#include "main.h"

/* Private includes ----------------------------------------------------------*/
/* USER CODE BEGIN Includes */
#include "digits.h"
#include "test_images.h"
/* USER CODE END Includes */

/* USER CODE BEGIN PV */

/* USER CODE END PV */

void SystemClock_Config(void);
static void MX_GPIO_Init(void);
static void MX_USART2_UART_Init(void);
/* USER CODE BEGIN PFP */
static void send(const char *text);
static void send_number(int number);
static int classify(const uint8_t *pixels);
void wait_for_interrupt(void);
/* USER CODE END PFP */

/* USER CODE BEGIN 0 */
static void send(const char *text)
{
    for (; *text; text++) {
        while (!(USART2_SR & 0x80)) { /* TXE */
        }
        USART2_DR = (uint8_t)*text;
    }
}

static void send_number(int number)
{
    char text[12];
    char *first = text + sizeof text - 1;

    *first = 0;
    do {
        *--first = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    send(first);
}

/* A function of its own: the emulator ends here. */
__attribute__((noinline)) void wait_for_interrupt(void)
{
    __asm volatile("wfi");
}

/* Returns the digit in an image, or -1. The input has scale 1/128 and zero point -64: a pixel of 0 to 16 is 8 * pixel - 64. */
static int classify(const uint8_t *pixels)
{
    static int8_t input[DIGITS_INPUT_SIZE];
    static int8_t scores[DIGITS_OUTPUT_SIZE];
    int best = 0;

    for (int i = 0; i < DIGITS_INPUT_SIZE; i++) {
        input[i] = (int8_t)(8 * (int)pixels[i] - 64);
    }
    if (digits_run(input, scores) != 0) {
        return -1;
    }
    for (int i = 1; i < DIGITS_OUTPUT_SIZE; i++) {
        if (scores[i] > scores[best]) {
            best = i;
        }
    }
    return best;
}
/* USER CODE END 0 */

int main(void)
{
    /* USER CODE BEGIN 1 */
    int correct = 0;
    /* USER CODE END 1 */

    SystemClock_Config();
    MX_GPIO_Init();
    MX_USART2_UART_Init();
    /* USER CODE BEGIN 2 */
    for (int image = 0; image < TEST_IMAGES; image++) {
        correct += classify(test_images[image]) == test_labels[image];
    }
    send_number(TEST_IMAGES);
    send(" images, ");
    send_number(correct);
    send(" correct\n");
    /* USER CODE END 2 */

    /* Infinite loop */
    /* USER CODE BEGIN WHILE */
    while (1) {
        /* USER CODE END WHILE */

        /* USER CODE BEGIN 3 */
        wait_for_interrupt();
    }
    /* USER CODE END 3 */
}

/* The HSI, 16 MHz. */
void SystemClock_Config(void)
{
    RCC_CR |= 0x1;
    while (!(RCC_CR & 0x2)) {
    }
    RCC_CFGR &= ~0x3u;
}

static void MX_GPIO_Init(void)
{
    RCC_AHB1ENR |= 0x1;
    GPIOA_AFRL = (GPIOA_AFRL & ~0xF00u) | 0x700; /* PA2: USART2 */
    GPIOA_MODER = (GPIOA_MODER & ~0x30u) | 0x20;
}

static void MX_USART2_UART_Init(void)
{
    RCC_APB1ENR |= 0x20000;
    USART2_BRR = 139; /* 16 MHz / 115200 */
    USART2_CR1 = 0x2008; /* UE, TE */
}

/* USER CODE BEGIN 4 */

/* USER CODE END 4 */

void Error_Handler(void)
{
    /* USER CODE BEGIN Error_Handler_Debug */
    while (1) {
    }
    /* USER CODE END Error_Handler_Debug */
}
