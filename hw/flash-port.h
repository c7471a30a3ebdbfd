/*
 * Scarp: the seam between hw/nvme and the flash engine
 *
 * The engine has one owner at a time.  Whoever serves NVMe queues (the client)
 * talks to it through two single-producer single-consumer rings only.  On the
 * virtual clock one timer callback is both ends.  On real time the client is
 * whoever has QEMU's big lock.  The owner is whoever has the lock of the
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

/* For arrived_ns: when the owner takes it. */
#define FLASH_PORT_WHEN_TAKEN INT64_MAX

/*
 * Client: false when the ring is full; try again after the owner ran.  The
 * command is submitted at arrived_ns, in the engine's time.  If the engine has
 * gone further by then, it is submitted at once.  Until then the time is kept
 * in cmd->submit_ns.
 */
bool flash_port_push(FlashPort *port, ScarpCmd *cmd, int64_t arrived_ns);
/* Client: the next completed command, or NULL. */
ScarpCmd *flash_port_pop(FlashPort *port);

/* Client: scarp_spare_percent() as of the owner's last run. */
uint32_t flash_port_spare_percent(FlashPort *port);

/* What a client may wait for beside its commands. */
enum {
    FLASH_PORT_READY = 1, /* scarp_is_ready() */
    FLASH_PORT_REST = 2,  /* the drive has nothing to do by itself */
};

/* Client: to be told of it, once. */
void flash_port_await(FlashPort *port, unsigned what);
/* Client: which of it has come since this was asked last. */
unsigned flash_port_reached(FlashPort *port);

/*
 * Anybody: is there something to pop, or to ask flash_port_reached() for?  It
 * may have gone by then.
 */
bool flash_port_has_completed(FlashPort *port);

/*
 * Who is client and owner at once: another drive is in the place of this one,
 * and what is in the rings is forgotten.
 */
void flash_port_replace(FlashPort *port, ScarpDrive *drive);

/* Owner, in time to spare: scarp_stock_memory(). */
bool flash_port_stock(FlashPort *port);

/* Owner: how many commands were pushed and not taken yet. */
unsigned flash_port_pushed(FlashPort *port);

/*
 * Owner: take what was pushed, process every event up to now_ns, hand over what
 * completed.  At most so many commands are taken; none is submitted later than
 * now_ns.  Returns the time of the next event.
 */
int64_t flash_port_run(FlashPort *port, int64_t now_ns, unsigned most);

#endif /* SCARP_FLASH_PORT_H */
