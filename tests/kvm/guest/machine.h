/*
 * The machine around the drive: time, PCI, interrupts, a second processor.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef BARE_MACHINE_H
#define BARE_MACHINE_H

#include "cpu.h"

/* In entry.S: a stub for each vector; the second processor's first code. */
extern uint8_t interrupt_stubs[], second_code[], second_code_end[];
/* What entry.S calls. */
void interrupt_arrived(uint32_t vector);
void second_main(void);
struct Multiboot;
void first_main(const struct Multiboot *loaded);

/* Vectors of interrupts; a queue's is VECTOR_QUEUE + its number. */
enum { VECTORS = 96, VECTOR_QUEUE = 0x40 };

/* Measures the time-stamp counter, and takes interrupts. */
void machine_init(void);

/* Microseconds since some moment; nanoseconds of so many counts. */
uint32_t now_us(void);
uint32_t stamps_ns(uint64_t stamps);
void pause_us(uint32_t us);

/* How often an interrupt of that vector has arrived, at either processor. */
uint32_t interrupts(uint32_t vector);

/* The first PCI function of that class (24 bits), or a failure. */
uint32_t pci_find(uint32_t class_code);
uint32_t pci_read(uint32_t function, uint32_t offset);
void pci_write(uint32_t function, uint32_t offset, uint32_t value);
/* MSI-X table entry `entry` of the function sends `vector` to a processor. */
void msix_route(uint32_t function, uint32_t entry, uint32_t vector,
                uint32_t apic_id);

/* The local APIC's number of the processor that asks. */
uint32_t this_processor(void);
/* The second processor runs that function once, with interrupts off. */
void second_start(void (*function)(void));
bool second_ended(void);

#endif /* BARE_MACHINE_H */
