/*
 * Instructions that C has no words for.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef BARE_CPU_H
#define BARE_CPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static inline void out8(uint16_t port, uint8_t value)
{
    __asm__ volatile("outb %0, %1" : : "a"(value), "d"(port));
}

static inline uint8_t in8(uint16_t port)
{
    uint8_t value;

    __asm__ volatile("inb %1, %0" : "=a"(value) : "d"(port));
    return value;
}

static inline void out32(uint16_t port, uint32_t value)
{
    __asm__ volatile("outl %0, %1" : : "a"(value), "d"(port));
}

static inline uint32_t in32(uint16_t port)
{
    uint32_t value;

    __asm__ volatile("inl %1, %0" : "=a"(value) : "d"(port));
    return value;
}

static inline uint32_t mmio_read(uint32_t address)
{
    /* volatile: no access to a device is left out, moved or divided */
    uint32_t value = *(volatile uint32_t *)address;

    __asm__ volatile("" : : : "memory");
    return value;
}

static inline void mmio_write(uint32_t address, uint32_t value)
{
    __asm__ volatile("" : : : "memory");
    /* volatile: as in mmio_read() */
    *(volatile uint32_t *)address = value;
    __asm__ volatile("" : : : "memory");
}

/* What this processor has stored is seen before what it loads afterwards. */
static inline void memory_fence(void)
{
    __asm__ volatile("lock; addl $0, (%%esp)" : : : "memory", "cc");
}

static inline void relax(void)
{
    __asm__ volatile("pause" : : : "memory");
}

static inline void interrupts_off(void)
{
    __asm__ volatile("cli" : : : "memory");
}

/*
 * Sleeps until an interrupt.  STI takes effect behind HLT, so an interrupt that
 * was pending before wakes the processor, too.
 */
static inline void sleep_until_interrupt(void)
{
    __asm__ volatile("sti; hlt; cli" : : : "memory");
}

static inline uint64_t time_stamp(void)
{
    uint32_t low, high;

    __asm__ volatile("rdtsc" : "=a"(low), "=d"(high) : : "memory");
    return (uint64_t)high << 32 | low;
}

/* String instructions: the emulator repeats them faster than a loop. */
static inline void fill_words(void *words, uint32_t value, uint32_t n)
{
    __asm__ volatile("rep stosl"
                     : "+D"(words), "+c"(n) : "a"(value) : "memory");
}

/* Whether all n words have that value. */
static inline bool words_are(const void *words, uint32_t value, uint32_t n)
{
    bool equal;

    __asm__ volatile("repe scasl; sete %0"
                     : "=&q"(equal), "+D"(words), "+c"(n)
                     : "a"(value) : "memory", "cc");
    return equal;
}

static inline bool words_equal(const void *one, const void *other, uint32_t n)
{
    bool equal;

    __asm__ volatile("repe cmpsl; sete %0"
                     : "=&q"(equal), "+S"(one), "+D"(other), "+c"(n)
                     : : "memory", "cc");
    return equal;
}

static inline void copy_words(void *to, const void *from, uint32_t n)
{
    __asm__ volatile("rep movsl"
                     : "+D"(to), "+S"(from), "+c"(n) : : "memory");
}

/* The low 32 bits of numerator / divisor, without libgcc. */
static inline uint32_t divide(uint64_t numerator, uint32_t divisor)
{
    uint32_t quotient, high = (uint32_t)(numerator >> 32) % divisor;

    __asm__("divl %4"
            : "=a"(quotient), "=d"(high)
            : "0"((uint32_t)numerator), "1"(high), "r"(divisor)
            : "cc");
    return quotient;
}

#endif /* BARE_CPU_H */
