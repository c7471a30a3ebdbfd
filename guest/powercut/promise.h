/*
 * Promises of a drive: data that a workload has written and the drive must
 * keep, because a sync of it has returned. They are written down outside of the
 * drive.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_PROMISE_H
#define SCARP_PROMISE_H

/*
 * Appends a line to $SCARP_OUT/promises: the drive's time in nanoseconds, then
 * the text. A promise is made when the system call that makes data durable has
 * returned. Several processes may call this at once. A failure ends the
 * program.
 */
void promise(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif /* SCARP_PROMISE_H */
