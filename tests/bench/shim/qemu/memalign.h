/*
 * As osdep.h: QEMU's aligned memory.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_SHIM_MEMALIGN_H
#define SCARP_SHIM_MEMALIGN_H

#include <stdlib.h>

static inline void *qemu_memalign(size_t alignment, size_t size)
{
    void *memory = NULL;

    if (posix_memalign(&memory, alignment, size)) {
        abort();
    }
    return memory;
}

static inline void qemu_vfree(void *memory)
{
    free(memory);
}

#endif /* SCARP_SHIM_MEMALIGN_H */
