/*
 * What clang's profile runtime and the linker (--wrap=_exit) bring.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef COVERAGE_FLUSH_H
#define COVERAGE_FLUSH_H

int __llvm_profile_write_file(void);
void __real__exit(int status) __attribute__((noreturn));
void __wrap__exit(int status) __attribute__((noreturn));

#endif /* COVERAGE_FLUSH_H */
