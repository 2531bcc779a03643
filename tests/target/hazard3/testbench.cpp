// SPDX-License-Identifier: MIT
// Runs a flat image from 0x80000000 on in memory that answers in one cycle. A byte written to UART is printed; a write to EXIT ends
// the run, with the upper half of the word. These are addresses of QEMU's machine virt, too.
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <vector>

#include "Vtop.h"

static const uint32_t BASE = 0x80000000u, SIZE = 32u << 20, UART = 0x10000000u, EXIT = 0x100000u;
static const uint64_t MOST_CYCLES = 1000000000u;
static std::vector<uint8_t> memory(SIZE);

static uint32_t word(uint32_t address)
{
    uint32_t found = 0;
    if (address - BASE < SIZE)
        std::memcpy(&found, &memory[(address & ~3u) - BASE], sizeof found);
    return found;
}

int main(int, char **arguments)
{
    FILE *file = std::fopen(arguments[1], "rb");
    if (file == nullptr || std::fread(memory.data(), 1, SIZE, file) == 0)
        return 2;
    Vtop top;
    for (int half = 0; half < 3; half++) {
        top.rst_n = 0;
        top.clk = half & 1;
        top.eval();
    }
    top.rst_n = 1;
    uint32_t written = 0, size = 0;
    bool writes = false; // the bus hands over the data of a write a cycle after its address
    for (uint64_t cycle = 0; cycle < MOST_CYCLES; cycle++) {
        top.clk = 0;
        top.eval();
        uint32_t data = top.d_hwdata;
        if (writes && written == EXIT)
            return static_cast<int>(data >> 16);
        if (writes && written == UART)
            std::putchar(static_cast<int>(data & 255));
        else if (writes && written - BASE < SIZE)
            std::memcpy(&memory[written - BASE], reinterpret_cast<uint8_t *>(&data) + (written & 3), size);
        writes = top.d_htrans != 0 && top.d_hwrite;
        written = top.d_haddr;
        size = 1u << top.d_hsize;
        uint32_t fetched = word(top.i_haddr), loaded = word(top.d_haddr);
        top.clk = 1;
        top.eval();
        top.i_hrdata = fetched;
        top.d_hrdata = loaded;
        top.eval();
    }
    return 3;
}
