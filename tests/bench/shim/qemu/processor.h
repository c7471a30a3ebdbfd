/*
 * As osdep.h: what a loop that waits does.  Here it does not tell the core that
 * it waits: that is nearly the same, and the same on each architecture.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_SHIM_PROCESSOR_H
#define SCARP_SHIM_PROCESSOR_H

#define cpu_relax() __asm__ volatile("" : : : "memory")

#endif /* SCARP_SHIM_PROCESSOR_H */
