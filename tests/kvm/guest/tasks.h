/*
 * What the guest can be asked to do.  A task ends with one line that says what
 * it did, or with a failure.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef BARE_TASKS_H
#define BARE_TASKS_H

#include "cpu.h"

/* n: how many commands, or rounds; each task has its own sense of it. */
void task_polled(uint32_t n);     /* depths 1 and 32, data compared */
void task_interrupts(uint32_t n); /* the same by MSI-X */
void task_shadow(uint32_t n);     /* doorbells in memory */
void task_processors(uint32_t n); /* two, each with a queue and a vector */
void task_resets(uint32_t n);     /* rounds, with reads in flight */
void task_deletions(uint32_t n);  /* the same, queues deleted */
void task_doorbells(uint32_t n);  /* random ones beside resets, in rounds */
void task_stops(uint32_t n);      /* the host stops the machine meanwhile */
void task_latency(uint32_t n);    /* reads one at a time */
void task_list(uint32_t n);       /* the host's commands: a multiboot module */
/* n: a queue; how many of its doorbell writes were MMIO so far. */
void task_count(uint32_t n);
void task_reboot(uint32_t n);     /* resets the machine n us later: no end */
/*
 * Resets the machine n us later, so that all tasks run again; in that second
 * boot it does nothing.
 */
void task_again(uint32_t n);

/* The module that the host gave; task_list() reads it. */
void list_init(const void *module, uint32_t bytes);

#endif /* BARE_TASKS_H */
