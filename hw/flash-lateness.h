/*
 * Scarp: how late completions were on the host's clock
 *
 * A command arrives when its doorbell is seen.  The engine takes it later,
 * and says when it ends.  The guest can see that when the entry of the
 * completion queue is written.  What the guest waited longer than the model
 * wanted is the command's lateness.
 *
 * Called with QEMU's big lock.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_FLASH_LATENESS_H
#define SCARP_FLASH_LATENESS_H

#include "nvme-flash.h"
#include "flash-rt-thread.h"

typedef struct FlashLateness FlashLateness;

/* log_path: a row for each command; may be NULL. */
FlashLateness *flash_lateness_new(const char *log_path, int64_t bound_ns,
                                  Error **errp);
void flash_lateness_free(FlashLateness *lateness);

/*
 * The command's completion was posted at that time of the drive; all times of
 * the stamp are the drive's.  A part: no entry of an I/O queue was written for
 * it.  Most are pieces of a command of several; the others are of an admin
 * command or of a shutdown.
 */
void flash_lateness_add(FlashLateness *lateness, const NvmeFlashStamp *stamp,
                        int64_t posted_ns, bool part);

/* What arrived before is not counted from here on. */
void flash_lateness_reset(FlashLateness *lateness, int64_t now_ns);

/* Write out what is buffered; false and *errp set if something was lost. */
bool flash_lateness_flush(FlashLateness *lateness, Error **errp);

/*
 * The numbers that follow the engine's in log page 0xCA, little endian; their
 * names are in flash-lateness.c.  At most size bytes; returns the full length.
 */
size_t flash_lateness_page(const FlashLateness *lateness,
                           const FlashThreadUse *use, void *buf, size_t size);
unsigned flash_lateness_page_words(void);
/* The same as {"NAME": …}, freed by the caller. */
char *flash_lateness_json(const FlashLateness *lateness,
                          const FlashThreadUse *use);

#endif /* SCARP_FLASH_LATENESS_H */
