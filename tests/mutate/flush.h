/*
 * What gcov's runtime brings, and what of the C library is replaced.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef MUTATE_FLUSH_H
#define MUTATE_FLUSH_H

void __gcov_dump(void);
void _exit(int status) __attribute__((noreturn));
void abort(void) __attribute__((noreturn));

#endif /* MUTATE_FLUSH_H */
