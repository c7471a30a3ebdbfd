/*
 * What a workload has been promised, taken down outside of the drive.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_PROMISE_H
#define SCARP_PROMISE_H

/*
 * One line more of $SCARP_OUT/promises: the drive's time in nanoseconds, then
 * the text.  Whoever calls it has seen a system call return by then.  Several
 * processes may do so at once.  Ends the program if it cannot.
 */
void promise(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif /* SCARP_PROMISE_H */
