/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "machine.h"
#include "say.h"

#define PM_TIMER 0x608      /* of ICH9, where SeaBIOS puts it */
#define PM_TIMER_HZ 3579545 /* ACPI 6.5, 4.8.3.3 */
#define PM_TIMER_MASK 0xffffff
#define CALIBRATION_TICKS 35795 /* 10 ms */

#define PIC_FIRST_MASK 0x21
#define PIC_SECOND_MASK 0xa1

/* The local APIC: Intel SDM, volume 3, 10.4.1. */
#define APIC 0xfee00000
#define APIC_ID (APIC + 0x20)
#define APIC_TASK_PRIORITY (APIC + 0x80)
#define APIC_END (APIC + 0xb0)
#define APIC_SPURIOUS (APIC + 0xf0)
#define APIC_COMMAND (APIC + 0x300)
#define APIC_COMMAND_TARGET (APIC + 0x310)
#define APIC_ENABLED 0x1ff
#define COMMAND_INIT 0x4500
#define COMMAND_STARTUP 0x4600

#define PCI_ADDRESS 0xcf8
#define PCI_DATA 0xcfc
#define PCI_FUNCTIONS 256 /* of the first bus */
#define PCI_CAPABILITIES 0x34
#define CAPABILITY_MSIX 0x11
#define MSIX_ENABLED 0x80000000

#define SECOND_AT 0x8000
#define SECOND_PROCESSOR 1
#define INIT_US 10000
#define STARTUP_US 300
#define SECOND_LIMIT_US 20000000

static uint32_t stamps_per_us = 1;
static uint64_t idt[VECTORS];
static void (*second_function)(void);
/* volatile: the other processor or an interrupt writes them */
static volatile uint32_t arrived[VECTORS];
/* volatile: likewise */
static volatile bool second_began, second_done;

/* ---- Time --------------------------------------------------------------- */

static uint32_t pm_ticks(void)
{
    return in32(PM_TIMER) & PM_TIMER_MASK;
}

static void calibrate(void)
{
    uint32_t began = pm_ticks(), ticks;
    uint64_t stamp = time_stamp();

    do {
        ticks = (pm_ticks() - began) & PM_TIMER_MASK;
    } while (ticks < CALIBRATION_TICKS);
    stamp = time_stamp() - stamp;
    /* stamps / (ticks / PM_TIMER_HZ) / 10^6, with 1024 for a part of it */
    stamps_per_us = divide(stamp * (PM_TIMER_HZ / 1000), ticks * 1000);
    if (!stamps_per_us) {
        fail("time-stamp counter", (uint32_t)stamp, ticks);
    }
}

uint32_t now_us(void)
{
    return divide(time_stamp(), stamps_per_us);
}

uint32_t stamps_ns(uint64_t stamps)
{
    return divide(stamps * 1000, stamps_per_us);
}

void pause_us(uint32_t us)
{
    uint32_t began_us = now_us();

    while (now_us() - began_us < us) {
        relax();
    }
}

/* ---- Interrupts --------------------------------------------------------- */

void interrupt_arrived(uint32_t vector)
{
    if (vector < 32) {
        fail("exception", vector, 0);
    }
    __atomic_fetch_add(&arrived[vector], 1, __ATOMIC_RELAXED);
    mmio_write(APIC_END, 0);
}

uint32_t interrupts(uint32_t vector)
{
    return arrived[vector];
}

static void take_interrupts(void)
{
    struct {
        uint16_t limit;
        uint32_t base;
    } __attribute__((packed)) table = { sizeof(idt) - 1, (uint32_t)idt };

    __asm__ volatile("lidt %0" : : "m"(table));
    mmio_write(APIC_SPURIOUS, APIC_ENABLED);
    mmio_write(APIC_TASK_PRIORITY, 0);
}

void machine_init(void)
{
    calibrate();
    out8(PIC_FIRST_MASK, 0xff);
    out8(PIC_SECOND_MASK, 0xff);
    for (uint32_t vector = 0; vector < VECTORS; vector++) {
        uint32_t stub = (uint32_t)interrupt_stubs + 16 * vector;

        /* a gate of 32 bits, present, code selector 8 */
        idt[vector] = (uint64_t)(stub >> 16) << 48 | 0x8e0000080000ULL |
                      (stub & 0xffff);
    }
    take_interrupts();
}

/* ---- PCI ---------------------------------------------------------------- */

static void pci_select(uint32_t function, uint32_t offset)
{
    out32(PCI_ADDRESS, 0x80000000u | function << 8 | offset);
}

uint32_t pci_read(uint32_t function, uint32_t offset)
{
    pci_select(function, offset);
    return in32(PCI_DATA);
}

void pci_write(uint32_t function, uint32_t offset, uint32_t value)
{
    pci_select(function, offset);
    out32(PCI_DATA, value);
}

uint32_t pci_find(uint32_t class_code)
{
    for (uint32_t function = 0; function < PCI_FUNCTIONS; function++) {
        if (pci_read(function, 8) >> 8 == class_code) {
            return function;
        }
    }
    fail("no PCI function of class", class_code, 0);
}

void msix_route(uint32_t function, uint32_t entry, uint32_t vector,
                uint32_t apic_id)
{
    uint32_t at = pci_read(function, PCI_CAPABILITIES) & 0xff;
    uint32_t place, table;

    while (at && (pci_read(function, at) & 0xff) != CAPABILITY_MSIX) {
        at = pci_read(function, at) >> 8 & 0xff;
    }
    if (!at) {
        fail("no MSI-X", function, 0);
    }
    place = pci_read(function, at + 4);
    table = (pci_read(function, 0x10 + 4 * (place & 7)) & ~15u) +
            (place & ~7u) + 16 * entry;
    mmio_write(table, APIC | apic_id << 12);
    mmio_write(table + 4, 0);
    mmio_write(table + 8, vector);
    mmio_write(table + 12, 0);
    pci_write(function, at, pci_read(function, at) | MSIX_ENABLED);
}

/* ---- The second processor ----------------------------------------------- */

uint32_t this_processor(void)
{
    return mmio_read(APIC_ID) >> 24;
}

void second_main(void)
{
    second_began = true;
    take_interrupts();
    second_function();
    second_done = true;
}

static void second_signal(uint32_t command)
{
    mmio_write(APIC_COMMAND_TARGET, SECOND_PROCESSOR << 24);
    mmio_write(APIC_COMMAND, command);
}

void second_start(void (*function)(void))
{
    uint32_t words = (second_code_end - second_code + 3) / 4;
    uint32_t began_us;

    copy_words((void *)SECOND_AT, second_code, words);
    second_began = second_done = false;
    second_function = function;
    memory_fence();
    /* Intel SDM, volume 3, 8.4.4.1: INIT, 10 ms, STARTUP, and once more */
    second_signal(COMMAND_INIT);
    pause_us(INIT_US);
    second_signal(COMMAND_STARTUP | SECOND_AT >> 12);
    pause_us(STARTUP_US);
    if (!second_began) {
        second_signal(COMMAND_STARTUP | SECOND_AT >> 12);
    }
    began_us = now_us();
    while (!second_began) {
        if (now_us() - began_us > SECOND_LIMIT_US) {
            fail("the second processor does not begin", 0, 0);
        }
        relax();
    }
}

bool second_ended(void)
{
    return second_done;
}
