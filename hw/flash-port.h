/*
 * Scarp: the seam between hw/nvme and the flash engine
 *
 * The engine has one owner at a time, which runs it. The client serves NVMe
 * queues. Commands go from the client to the owner, and back, through two
 * rings, each with one producer and one consumer. The few other values that the
 * two share are atomic.
 *
 * On the virtual clock the thread that has QEMU's big lock is both client and
 * owner. On real time the client is the thread that has QEMU's big lock, and
 * the owner is the thread that has the lock of the drive's thread
 * (flash-rt-thread.h).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_FLASH_PORT_H
#define SCARP_FLASH_PORT_H

#include "../ftl/scarp.h"

#define FLASH_PORT_ENTRIES 1024u /* entries of each ring; a power of two */

typedef struct FlashPort FlashPort;

FlashPort *flash_port_new(ScarpDrive *drive);
void flash_port_free(FlashPort *port);

/* A value of arrived_ns: the command arrives when the owner takes it. */
#define FLASH_PORT_WHEN_TAKEN INT64_MAX

/*
 * Client: pushes a command into the submission ring. Returns false if the ring
 * is full. The client then tries again after the owner has run. The engine gets
 * the command at arrived_ns of the engine's time, or at once if the engine has
 * passed that time. Until the engine has the command, cmd->submit_ns contains
 * arrived_ns.
 */
bool flash_port_push(FlashPort *port, ScarpCmd *cmd, int64_t arrived_ns);
/* Client: returns the next completed command, or NULL. */
ScarpCmd *flash_port_pop(FlashPort *port);

/* Client: returns scarp_spare_percent() as of the owner's last run. */
uint32_t flash_port_spare_percent(FlashPort *port);

/*
 * Returns a temperature in thousandths of a kelvin, in which 0 can stand for no
 * temperature. In degrees Celsius 0 is a temperature that a drive may have.
 */
static inline uint32_t flash_millikelvin(uint64_t millicelsius)
{
    return MIN(millicelsius, UINT32_MAX - 273150u) + 273150u;
}
/*
 * Client: returns the drive's temperature in thousandths of a kelvin as of the
 * owner's last run. Returns 0 if the description has no group heat.
 */
uint32_t flash_port_millikelvin(FlashPort *port);

/* States of the drive that a client may wait for. */
enum {
    FLASH_PORT_READY = 1, /* scarp_is_ready() */
    FLASH_PORT_REST = 2,  /* no event of the drive is left */
    FLASH_PORT_QUIESCENT = 4, /* scarp_quiescent() */
};

/*
 * Client: asks for the states in `what` (bits FLASH_PORT_...), and does not
 * wait. When the drive has come to one of these states, flash_port_reached()
 * returns it once.
 */
void flash_port_await(FlashPort *port, unsigned what);
/* Client: returns the awaited states that have come since the last call. */
unsigned flash_port_reached(FlashPort *port);

/*
 * Any thread: true when flash_port_pop() has a command, or flash_port_reached()
 * a state, for the client. The client may take it before the caller acts on the
 * answer.
 */
bool flash_port_has_completed(FlashPort *port);

/*
 * For a caller that is both client and owner: replaces the drive by another
 * drive, and forgets the contents of the rings.
 */
void flash_port_replace(FlashPort *port, ScarpDrive *drive);

/*
 * Owner: returns how many commands the engine has been given since the port was
 * made.
 */
uint64_t flash_port_submitted(const FlashPort *port);

/*
 * Owner, while no event is due soon: calls scarp_stock_memory(), and returns
 * its result.
 */
bool flash_port_stock(FlashPort *port);

/*
 * Owner: returns the number of pushed commands that the owner has not taken
 * yet.
 */
unsigned flash_port_pushed(FlashPort *port);

/*
 * Owner: takes at most `most` commands from the submission ring, processes
 * every event up to now_ns, and puts completed commands into the completion
 * ring. Each command is submitted at now_ns at the latest. Returns the time of
 * the engine's next event.
 */
int64_t flash_port_run(FlashPort *port, int64_t now_ns, unsigned most);

#endif /* SCARP_FLASH_PORT_H */
