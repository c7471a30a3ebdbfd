/*
 * Scarp: lateness of completions on the host's clock
 *
 * A command arrives when its doorbell is seen. The engine takes it later, and
 * says when it ends. The guest can see the end when the entry of the completion
 * queue is written. The time that the guest waited longer than the model wanted
 * is the command's lateness.
 *
 * All functions are called with QEMU's big lock.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_FLASH_LATENESS_H
#define SCARP_FLASH_LATENESS_H

#include "nvme-flash.h"
#include "flash-rt-thread.h"

typedef struct FlashLateness FlashLateness;

/* log_path: a file for a row for each command; may be NULL. */
FlashLateness *flash_lateness_new(const char *log_path, int64_t bound_ns,
                                  Error **errp);
void flash_lateness_free(FlashLateness *lateness);

/*
 * Adds a command whose completion was posted at posted_ns; all times of the
 * stamp are the drive's. part: no entry of an I/O queue was written for it.
 * Most parts are pieces of a larger command; the others are of an admin command
 * or of a shutdown.
 */
void flash_lateness_add(FlashLateness *lateness, const NvmeFlashStamp *stamp,
                        int64_t posted_ns, bool part);

/* Restarts the counts: commands that arrived before are not counted. */
void flash_lateness_reset(FlashLateness *lateness, int64_t now_ns);

/* Writes out what is buffered; false and *errp set if something was lost. */
bool flash_lateness_flush(FlashLateness *lateness, Error **errp);

/*
 * Writes the numbers that follow the engine's in log page 0xCA, little endian,
 * at most size bytes; flash-lateness.c has their names. Returns the full
 * length.
 */
size_t flash_lateness_page(const FlashLateness *lateness,
                           const FlashThreadUse *use, void *buf, size_t size);
unsigned flash_lateness_page_words(void);
/* Returns the numbers as {"NAME": …}, freed by the caller. */
char *flash_lateness_json(const FlashLateness *lateness,
                          const FlashThreadUse *use);

#endif /* SCARP_FLASH_LATENESS_H */
