/*
 * Scarp: submission and completion rings
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include <stdatomic.h>
#include "qemu/memalign.h"
#include "flash-port.h"

#define CACHE_LINE 64

/*
 * A ring. `head` and `tail` only grow, and may wrap. Their difference is the
 * number of entries in use.
 */
typedef struct {
    _Alignas(CACHE_LINE) atomic_uint head; /* written by the consumer */
    _Alignas(CACHE_LINE) atomic_uint tail; /* written by the producer */
    _Alignas(CACHE_LINE) ScarpCmd *entry[FLASH_PORT_ENTRIES];
} Ring;

struct FlashPort {
    Ring submission;
    Ring completion;
    ScarpDrive *drive;
    /* the drive's count of bad blocks when spare_percent was computed */
    uint64_t bad_blocks;
    uint64_t submitted;  /* number of commands given to the engine */
    atomic_uint spare_percent;
    atomic_uint millikelvin;
    atomic_uint awaited, reached; /* bits FLASH_PORT_… */
};

QEMU_BUILD_BUG_ON(FLASH_PORT_ENTRIES & (FLASH_PORT_ENTRIES - 1));

static bool ring_full(Ring *ring)
{
    unsigned head = atomic_load_explicit(&ring->head, memory_order_acquire);
    unsigned tail = atomic_load_explicit(&ring->tail, memory_order_relaxed);

    return tail - head == FLASH_PORT_ENTRIES;
}

/* Adds an entry. The producer has checked that the ring has a free place. */
static void ring_push(Ring *ring, ScarpCmd *cmd)
{
    unsigned tail = atomic_load_explicit(&ring->tail, memory_order_relaxed);

    ring->entry[tail % FLASH_PORT_ENTRIES] = cmd;
    atomic_store_explicit(&ring->tail, tail + 1, memory_order_release);
}

static ScarpCmd *ring_pop(Ring *ring)
{
    unsigned head = atomic_load_explicit(&ring->head, memory_order_relaxed);
    unsigned tail = atomic_load_explicit(&ring->tail, memory_order_acquire);
    ScarpCmd *cmd;

    if (head == tail) {
        return NULL;
    }
    cmd = ring->entry[head % FLASH_PORT_ENTRIES];
    atomic_store_explicit(&ring->head, head + 1, memory_order_release);
    return cmd;
}

/*
 * Computes the spare percentage anew, which takes time. Called for each drive
 * at first, and then only when its count of bad blocks has changed, because no
 * other event changes the percentage.
 */
static void look_at_spare(FlashPort *port)
{
    port->bad_blocks = scarp_stats(port->drive)->bad_blocks;
    atomic_store_explicit(&port->spare_percent,
                          scarp_spare_percent(port->drive),
                          memory_order_relaxed);
}

static void look_at_heat(FlashPort *port)
{
    ScarpHeat heat = { 0 };

    if (scarp_heat(port->drive, scarp_now_ns(port->drive), &heat)) {
        atomic_store_explicit(&port->millikelvin,
                              flash_millikelvin(heat.millicelsius),
                              memory_order_relaxed);
    }
}

FlashPort *flash_port_new(ScarpDrive *drive)
{
    FlashPort *port = qemu_memalign(CACHE_LINE, sizeof(*port));

    memset(port, 0, sizeof(*port));
    port->drive = drive;
    look_at_spare(port);
    look_at_heat(port);
    return port;
}

void flash_port_free(FlashPort *port)
{
    qemu_vfree(port);
}

bool flash_port_push(FlashPort *port, ScarpCmd *cmd, int64_t arrived_ns)
{
    if (ring_full(&port->submission)) {
        return false;
    }
    cmd->submit_ns = arrived_ns;
    ring_push(&port->submission, cmd);
    return true;
}

ScarpCmd *flash_port_pop(FlashPort *port)
{
    return ring_pop(&port->completion);
}

uint32_t flash_port_spare_percent(FlashPort *port)
{
    return atomic_load_explicit(&port->spare_percent, memory_order_relaxed);
}

uint32_t flash_port_millikelvin(FlashPort *port)
{
    return atomic_load_explicit(&port->millikelvin, memory_order_relaxed);
}

void flash_port_await(FlashPort *port, unsigned what)
{
    atomic_fetch_or(&port->awaited, what);
}

unsigned flash_port_reached(FlashPort *port)
{
    return atomic_load(&port->reached) ? atomic_exchange(&port->reached, 0)
                                       : 0;
}

/*
 * Called by the owner after a run of the engine: each awaited state that the
 * drive is in moves from `awaited` to `reached`.
 */
static void look_at_awaited(FlashPort *port)
{
    unsigned awaited = atomic_load(&port->awaited);
    unsigned come = 0;

    if ((awaited & FLASH_PORT_READY) && scarp_is_ready(port->drive)) {
        come |= FLASH_PORT_READY;
    }
    if ((awaited & FLASH_PORT_REST) &&
        scarp_next_event_ns(port->drive) == SCARP_TIME_NEVER) {
        come |= FLASH_PORT_REST;
    }
    if ((awaited & FLASH_PORT_QUIESCENT) &&
        scarp_quiescent(port->drive, NULL)) {
        come |= FLASH_PORT_QUIESCENT;
    }
    if (come) {
        atomic_fetch_and(&port->awaited, ~come);
        atomic_fetch_or(&port->reached, come);
    }
}

bool flash_port_has_completed(FlashPort *port)
{
    Ring *ring = &port->completion;

    return atomic_load_explicit(&ring->head, memory_order_acquire) !=
               atomic_load_explicit(&ring->tail, memory_order_acquire) ||
           atomic_load_explicit(&port->reached, memory_order_acquire);
}

unsigned flash_port_pushed(FlashPort *port)
{
    Ring *ring = &port->submission;

    return atomic_load_explicit(&ring->tail, memory_order_acquire) -
           atomic_load_explicit(&ring->head, memory_order_relaxed);
}

uint64_t flash_port_submitted(const FlashPort *port)
{
    return port->submitted;
}

void flash_port_replace(FlashPort *port, ScarpDrive *drive)
{
    while (ring_pop(&port->submission) || ring_pop(&port->completion)) {
        continue;
    }
    port->drive = drive;
    atomic_store(&port->awaited, 0);
    atomic_store(&port->reached, 0);
    look_at_spare(port);
}

bool flash_port_stock(FlashPort *port)
{
    return scarp_stock_memory(port->drive);
}

int64_t flash_port_run(FlashPort *port, int64_t now_ns, unsigned most)
{
    ScarpCmd *cmd;

    /*
     * Events of a moment come before the commands that are submitted at that
     * moment. Without this rule the order would depend on the number of
     * commands that a run finds in the ring, and a recording could not be
     * replayed exactly.
     */
    while (most-- && (cmd = ring_pop(&port->submission))) {
        scarp_run(port->drive, MIN(cmd->submit_ns, now_ns));
        scarp_submit(port->drive, cmd, scarp_now_ns(port->drive));
        port->submitted++;
    }
    scarp_run(port->drive, now_ns);

    /*
     * A completed command stays in the engine if the completion ring is full.
     */
    while (!ring_full(&port->completion) && (cmd = scarp_reap(port->drive))) {
        ring_push(&port->completion, cmd);
    }
    if (scarp_stats(port->drive)->bad_blocks != port->bad_blocks) {
        look_at_spare(port);
    }
    look_at_heat(port);
    if (atomic_load_explicit(&port->awaited, memory_order_relaxed)) {
        look_at_awaited(port);
    }
    return scarp_next_event_ns(port->drive);
}
