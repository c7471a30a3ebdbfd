/*
 * What the linker makes of the server's calls (hunt.mk has their names):
 * __wrap_x is called in place of x, and __real_x is the library's.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef HUNT_ARRAY_WRAPPED_H
#define HUNT_ARRAY_WRAPPED_H

#include "array.h"

#include <sys/types.h>

int __real_open(const char *path, int flags, ...);
int __real_close(int fd);
ssize_t __real_pread(int fd, void *data, size_t n, off_t at);
ssize_t __real_pwrite(int fd, const void *data, size_t n, off_t at);
int __real_fsync(int fd);
int __real_posix_fallocate(int fd, off_t at, off_t n);
Array *__real_array_new(const ArrayConfig *config, const ArrayOps *ops,
                        void *opaque, char *error);
void __real_array_free(Array *array);

int __wrap_open(const char *path, int flags, ...);
int __wrap_close(int fd);
ssize_t __wrap_pread(int fd, void *data, size_t n, off_t at);
ssize_t __wrap_pwrite(int fd, const void *data, size_t n, off_t at);
int __wrap_fsync(int fd);
int __wrap_posix_fallocate(int fd, off_t at, off_t n);
int __wrap_usleep(useconds_t us);
Array *__wrap_array_new(const ArrayConfig *config, const ArrayOps *ops,
                        void *opaque, char *error);
void __wrap_array_free(Array *array);

#endif /* HUNT_ARRAY_WRAPPED_H */
