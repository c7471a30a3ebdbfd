/*
 * Scarp: the flash engine on the host's clock
 *
 * A thread of the device owns the engine.  It takes commands from the
 * submission ring, sleeps until the engine's next event or until a command
 * is pushed, and hands completions back through the completion ring and a
 * bottom half of the main loop.  The few other calls into the engine
 * (statistics, allocation status) take the engine's lock.
 *
 * The thread takes no lock of QEMU's and never touches guest memory: data is
 * in the commands' own buffers.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qemu/event_notifier.h"
#include "qemu/main-loop.h"
#include "qemu/thread.h"
#include "flash-int.h"

struct FlashRealtime {
    NvmeFlash *flash;
    QemuThread thread;
    QemuMutex lock;       /* of the engine */
    EventNotifier kick;
    QEMUBH *bh;           /* completions, in the main loop */
    int64_t start_ns;     /* host time of the engine's zero */
    bool stop;
    bool running;
};

int64_t flash_realtime_now_ns(FlashRealtime *rt)
{
    return get_clock() - rt->start_ns;
}

void flash_realtime_lock(FlashRealtime *rt)
{
    qemu_mutex_lock(&rt->lock);
}

void flash_realtime_unlock(FlashRealtime *rt)
{
    qemu_mutex_unlock(&rt->lock);
}

void flash_realtime_kick(FlashRealtime *rt)
{
    event_notifier_set(&rt->kick);
}

static void wait_until(FlashRealtime *rt, int64_t time_ns)
{
    GPollFD fd = {
        .fd = event_notifier_get_fd(&rt->kick),
        .events = G_IO_IN,
    };
    int64_t timeout_ns = -1;

    if (time_ns != SCARP_TIME_NEVER) {
        timeout_ns = MAX(time_ns - flash_realtime_now_ns(rt), 0);
    }
    /* an interrupted sleep is a short one */
    if (qemu_poll_ns(&fd, 1, timeout_ns) > 0) {
        event_notifier_test_and_clear(&rt->kick);
    }
}

static void *flash_thread(void *opaque)
{
    FlashRealtime *rt = opaque;
    NvmeFlash *flash = rt->flash;

    while (!qatomic_load_acquire(&rt->stop)) {
        int64_t now_ns, next_ns;

        flash_realtime_lock(rt);
        now_ns = flash_realtime_now_ns(rt);
        next_ns = flash_port_run(flash->port, now_ns);
        flash_log_progress(flash->log, now_ns, scarp_stats(flash->drive));
        flash_realtime_unlock(rt);

        if (flash_port_has_completed(flash->port)) {
            qemu_bh_schedule(rt->bh);
        }
        wait_until(rt, next_ns);
    }
    return NULL;
}

FlashRealtime *flash_realtime_start(NvmeFlash *flash, Error **errp)
{
    FlashRealtime *rt = g_new0(FlashRealtime, 1);

    rt->flash = flash;
    if (event_notifier_init(&rt->kick, false) < 0) {
        error_setg(errp, "clock: the host has no event descriptor left");
        g_free(rt);
        return NULL;
    }
    qemu_mutex_init(&rt->lock);
    rt->bh = qemu_bh_new(nvme_flash_completed_bh, flash);
    rt->start_ns = get_clock() - scarp_now_ns(flash->drive);
    rt->running = true;
    qemu_thread_create(&rt->thread, "nvme-flash", flash_thread, rt,
                       QEMU_THREAD_JOINABLE);
    return rt;
}

void flash_realtime_stop(FlashRealtime *rt)
{
    if (rt->running) {
        qatomic_store_release(&rt->stop, true);
        flash_realtime_kick(rt);
        qemu_thread_join(&rt->thread);
        rt->running = false;
    }
}

void flash_realtime_free(FlashRealtime *rt)
{
    flash_realtime_stop(rt);
    qemu_bh_delete(rt->bh);
    event_notifier_cleanup(&rt->kick);
    qemu_mutex_destroy(&rt->lock);
    g_free(rt);
}
