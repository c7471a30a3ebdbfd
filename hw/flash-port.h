/*
 * Scarp: the seam between hw/nvme and the flash engine
 *
 * The engine has one owner at a time. The client, which serves NVMe queues,
 * talks to it through two single-producer single-consumer rings only. On the
 * virtual clock one timer callback is both ends. On real time the client is
 * whoever has QEMU's big lock, and the owner whoever has the lock of the
 * drive's thread (flash-rt-thread.h).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_FLASH_PORT_H
#define SCARP_FLASH_PORT_H

#include "../ftl/scarp.h"

#define FLASH_PORT_ENTRIES 1024u /* of each ring; a power of two */

typedef struct FlashPort FlashPort;

FlashPort *flash_port_new(ScarpDrive *drive);
void flash_port_free(FlashPort *port);

/* A command with this arrived_ns arrives when the owner takes it. */
#define FLASH_PORT_WHEN_TAKEN INT64_MAX

/*
 * Client: pushes a command; false when the ring is full: try again after the
 * owner ran. The command is submitted at arrived_ns, in the engine's time, or
 * at once if the engine is further by then. Until then cmd->submit_ns keeps the
 * time.
 */
bool flash_port_push(FlashPort *port, ScarpCmd *cmd, int64_t arrived_ns);
/* Client: returns the next completed command, or NULL. */
ScarpCmd *flash_port_pop(FlashPort *port);

/* Client: returns scarp_spare_percent() as of the owner's last run. */
uint32_t flash_port_spare_percent(FlashPort *port);

/* States that a client may wait for, besides commands. */
enum {
    FLASH_PORT_READY = 1, /* scarp_is_ready() */
    FLASH_PORT_REST = 2,  /* the drive has nothing to do by itself */
};

/* Client: asks to be told of these states, once. */
void flash_port_await(FlashPort *port, unsigned what);
/* Client: returns the states that have come since the last call. */
unsigned flash_port_reached(FlashPort *port);

/*
 * Anybody: true when there is something to pop, or to ask flash_port_reached()
 * for; it may be gone by then.
 */
bool flash_port_has_completed(FlashPort *port);

/*
 * Client and owner at once: replaces the drive by another, and forgets the
 * contents of the rings.
 */
void flash_port_replace(FlashPort *port, ScarpDrive *drive);

/* Owner, in time to spare: calls scarp_stock_memory(). */
bool flash_port_stock(FlashPort *port);

/* Owner: returns the number of commands pushed and not taken yet. */
unsigned flash_port_pushed(FlashPort *port);

/*
 * Owner: takes at most `most` pushed commands, processes every event up to
 * now_ns, and passes on completed commands. No command is submitted later than
 * now_ns. Returns the time of the next event.
 */
int64_t flash_port_run(FlashPort *port, int64_t now_ns, unsigned most);

#endif /* SCARP_FLASH_PORT_H */
