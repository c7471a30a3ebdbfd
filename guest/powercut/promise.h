/*
 * Promises to a workload, written down outside of the drive.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_PROMISE_H
#define SCARP_PROMISE_H

/*
 * Appends a line to $SCARP_OUT/promises: the drive's time in nanoseconds, then
 * the text. The caller has seen a system call return before. Several processes
 * may call it at once. Ends the program on failure.
 */
void promise(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif /* SCARP_PROMISE_H */
