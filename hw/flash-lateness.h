/*
 * Scarp: lateness of completions on the host's clock
 *
 * A command arrives when its doorbell is seen. The engine submits the command
 * later, and computes when it ends. The guest sees this end when the entry of
 * the completion queue is written. Lateness is the guest's wait, from arrival
 * to that entry, minus the latency that the engine computed.
 *
 * Callers of all these functions have QEMU's big lock.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_FLASH_LATENESS_H
#define SCARP_FLASH_LATENESS_H

#include "nvme-flash.h"
#include "flash-rt-thread.h"

typedef struct FlashLateness FlashLateness;

/*
 * Makes the statistics. The file log_path gets a row for each command. A path
 * of NULL stands for no file. Completions later than bound_ns are counted.
 * Returns NULL, with *errp set, if the file cannot be made.
 */
FlashLateness *flash_lateness_new(const char *log_path, int64_t bound_ns,
                                  Error **errp);
void flash_lateness_free(FlashLateness *lateness);

/*
 * Adds a command whose completion was posted at posted_ns. All times of the
 * stamp are in the drive's time. `part` tells that no entry of an I/O queue was
 * written for this command. Most such commands are pieces of a larger command.
 * The others belong to an admin command or to a shutdown.
 */
void flash_lateness_add(FlashLateness *lateness, const NvmeFlashStamp *stamp,
                        int64_t posted_ns, bool part);

/* Sets all counts to 0. Commands that arrived before now_ns are not counted. */
void flash_lateness_reset(FlashLateness *lateness, int64_t now_ns);

/*
 * Writes buffered rows to the log. Returns false, with *errp set, if rows were
 * lost.
 */
bool flash_lateness_flush(FlashLateness *lateness, Error **errp);

/*
 * Writes the numbers of real time into buf, little endian, at most `size`
 * bytes. Returns the length of all these numbers in bytes. In log page 0xCA
 * they follow the engine's numbers. flash-lateness.c has their names.
 */
size_t flash_lateness_page(const FlashLateness *lateness,
                           const FlashThreadUse *use, void *buf, size_t size);
/* Returns how many numbers of 8 bytes flash_lateness_page() writes. */
unsigned flash_lateness_page_words(void);
/* Returns the numbers as {"NAME": …}. The caller frees the text. */
char *flash_lateness_json(const FlashLateness *lateness,
                          const FlashThreadUse *use);

#endif /* SCARP_FLASH_LATENESS_H */
