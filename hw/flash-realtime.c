/*
 * Scarp: a flash device on the host's clock
 *
 * A thread (flash-rt-thread.c) runs the engine. Commands and completions go
 * through rings (flash-port.h). The few other calls into the engine
 * (statistics, allocation status) take the thread's lock.
 *
 * While the thread runs the engine, it has no lock of QEMU's and never touches
 * guest memory: the engine moves data only in buffers of the commands. To
 * report completed commands the thread takes QEMU's big lock and calls the
 * controller, which posts these commands. While a thread waits for the big
 * lock, it runs no events.
 *
 * A thread that has read a submission queue runs the engine itself, once,
 * unless the drive's thread is running it. So no sleeping thread has to be
 * woken before a command begins, or before its end is reported.
 *
 * The clock is the host's clock, minus the time for which the machine was
 * stopped: a drive stands still with its guest.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include <sched.h>
#include "hw/core/cpu.h"
#include "qapi/error.h"
#include "qemu/main-loop.h"
#include "qemu/processor.h"
#include "qemu/rcu.h"
#include "system/cpu-timers.h"
#include "system/runstate.h"
#include "flash-int.h"
#include "flash-lateness.h"

struct FlashRealtime {
    NvmeFlash *flash;
    FlashThread *thread;
    FlashLateness *lateness;
    QEMUBH *bh; /* calls completed() soon, from QEMU's main loop */
    VMChangeStateEntry *state;
    int64_t zero_ns; /* nvme_flash_clock_ns() at the engine's time 0 */
    bool in_thread;  /* the drive's thread reports completions now */
    bool submitted;  /* the drive is in the list with_commands */
    FlashRealtime *next;
};

/*
 * The arrival time of the command that hw/nvme is starting, or 0 if hw/nvme
 * starts no command. QEMU's big lock protects this variable and the next two.
 */
static int64_t arrival_ns;
/*
 * The drives that have got commands from the submission queue which a
 * controller reads now.
 */
static FlashRealtime *with_commands;
/*
 * The stamp of the engine's command whose end is being reported to its owner.
 */
static NvmeFlashStamp ending;

static void completed(void *opaque)
{
    /* a completion changes memory, which a stopped machine must keep */
    if (runstate_is_running()) {
        nvme_flash_completed(opaque);
    }
}

int64_t nvme_flash_clock_ns(void)
{
    return cpu_get_clock();
}

bool nvme_flash_timed(NvmeFlash *flash)
{
    return flash->realtime;
}

void nvme_flash_arrival(int64_t ns)
{
    arrival_ns = ns;
}

void nvme_flash_started(void)
{
    FlashRealtime *rt;

    while ((rt = with_commands)) {
        with_commands = rt->next;
        rt->submitted = false;
        if (flash_thread_run(rt->thread)) {
            completed(rt->flash);
        }
    }
}

void flash_realtime_submitted(FlashRealtime *rt)
{
    if (!arrival_ns) {
        flash_thread_kick(rt->thread);
    } else if (!rt->submitted) {
        rt->submitted = true;
        rt->next = with_commands;
        with_commands = rt;
    }
}

int64_t flash_realtime_arrival_ns(FlashRealtime *rt)
{
    return (arrival_ns ?: nvme_flash_clock_ns()) - rt->zero_ns;
}

static void wait_until(FlashRealtime *rt, int64_t time_ns)
{
    int64_t now_ns = flash_realtime_now_ns(rt);

    if (rt->in_thread) {
        flash_thread_was_early(rt->thread, time_ns - now_ns);
    }
    /* the clock of a stopped machine never reaches time_ns */
    while (now_ns < time_ns && runstate_is_running()) {
        cpu_relax();
        now_ns = flash_realtime_now_ns(rt);
    }
}

void flash_realtime_ending(FlashRealtime *rt, const ScarpCmd *cmd,
                           int64_t arrived_ns)
{
    ending = (NvmeFlashStamp) {
        .flash = rt->flash,
        .arrived_ns = arrived_ns,
        .submit_ns = cmd->submit_ns,
        .complete_ns = cmd->complete_ns,
        .seq = cmd->seq,
        .op = cmd->op,
    };
}

void flash_realtime_ended(FlashRealtime *rt)
{
    if (ending.flash) {
        /* no request took the stamp: the command was a part of a request */
        wait_until(rt, ending.complete_ns);
        flash_lateness_add(rt->lateness, &ending, flash_realtime_now_ns(rt),
                           true);
        ending.flash = NULL;
    }
}

void nvme_flash_ended(NvmeFlashStamp *stamp)
{
    *stamp = ending;
    ending.flash = NULL;
}

void nvme_flash_wait(const NvmeFlashStamp *stamp)
{
    wait_until(stamp->flash->realtime, stamp->complete_ns);
}

void nvme_flash_posted(NvmeFlashStamp *stamp)
{
    FlashRealtime *rt = stamp->flash->realtime;

    flash_lateness_add(rt->lateness, stamp, flash_realtime_now_ns(rt), false);
    stamp->flash = NULL;
}

int64_t flash_realtime_now_ns(FlashRealtime *rt)
{
    return nvme_flash_clock_ns() - rt->zero_ns;
}

void flash_realtime_lock(FlashRealtime *rt)
{
    flash_thread_lock(rt->thread);
}

void flash_realtime_unlock(FlashRealtime *rt)
{
    flash_thread_unlock(rt->thread);
}

void flash_realtime_kick(FlashRealtime *rt)
{
    flash_thread_kick(rt->thread);
}

void flash_realtime_look(FlashRealtime *rt)
{
    qemu_bh_schedule(rt->bh);
}

/* ---- Statistics ---------------------------------------------------------- */

void flash_realtime_reset_stats(FlashRealtime *rt)
{
    flash_thread_reset_use(rt->thread);
    flash_lateness_reset(rt->lateness, flash_realtime_now_ns(rt));
}

size_t flash_realtime_page(FlashRealtime *rt, void *page, size_t used,
                           size_t size)
{
    /* offset of the count of numbers in the page's header */
    enum { COUNT_AT = 12 };
    FlashThreadUse use;

    flash_thread_use(rt->thread, &use);
    if (size >= COUNT_AT + sizeof(uint32_t)) {
        uint8_t *count = (uint8_t *)page + COUNT_AT;

        stl_le_p(count, ldl_le_p(count) + flash_lateness_page_words());
    }
    return used + flash_lateness_page(rt->lateness, &use, (char *)page + used,
                                      size > used ? size - used : 0);
}

char *flash_realtime_json(FlashRealtime *rt, char *engine)
{
    g_autofree char *own = NULL, *before = engine;
    FlashThreadUse use;

    flash_thread_use(rt->thread, &use);
    own = flash_lateness_json(rt->lateness, &use);
    /* the new member goes before the brace that ends the object */
    *strrchr(before, '}') = '\0';
    return g_strdup_printf("%s, \"realtime\": %s}", before, own);
}

/* ---- The thread ---------------------------------------------------------- */

static void thread_ran(void *opaque, int64_t now_ns)
{
    NvmeFlash *flash = opaque;

    flash_log_progress(flash->logs.log, now_ns, scarp_stats(flash->drive));
}

static bool try_big_lock(void *opaque)
{
    return bql_trylock();
}

static void lock_big_lock(void *opaque)
{
    bql_lock();
}

static int big_lock_core(void *opaque)
{
    return bql_core();
}

static const FlashLock big_lock = { try_big_lock, lock_big_lock,
                                    big_lock_core };

/*
 * Called in the drive's thread when a kick has woken it. The virtual CPU that
 * rang the doorbell has the big lock until its write is over. If that CPU is on
 * the thread's core, the thread takes the big lock once, so that the CPU ends
 * its write first. Otherwise a thread with priority would keep the CPU off the
 * core, while all other threads wait for the CPU's lock.
 */
static void thread_woken(void *opaque)
{
    if (bql_core() == sched_getcpu()) {
        bql_lock();
        bql_unlock();
    }
}

static void thread_completed(void *opaque)
{
    NvmeFlash *flash = opaque;

    flash_thread_take(flash->realtime->thread, &big_lock, NULL);
    flash->realtime->in_thread = true;
    completed(flash);
    flash->realtime->in_thread = false;
    bql_unlock();
}

/*
 * Removes the drive's core from the cores of virtual CPUs that may use other
 * cores, too.
 */
static void keep_cpus_off(int core)
{
    CPUState *cpu;

    CPU_FOREACH(cpu) {
        cpu_set_t cores;

        if (!sched_getaffinity(cpu->thread_id, sizeof(cores), &cores) &&
            CPU_ISSET(core, &cores) && CPU_COUNT(&cores) > 1) {
            CPU_CLR(core, &cores);
            /* If the host refuses, the host places the CPU itself. */
            sched_setaffinity(cpu->thread_id, sizeof(cores), &cores);
        }
    }
}

static void machine_changed(void *opaque, bool running, RunState state)
{
    FlashRealtime *rt = opaque;

    flash_thread_pause(rt->thread, !running);
    if (running) {
        if (rt->flash->cpu >= 0) {
            keep_cpus_off(rt->flash->cpu);
        }
        qemu_bh_schedule(rt->bh);
    }
}

FlashRealtime *flash_realtime_start(NvmeFlash *flash, Error **errp)
{
    FlashRealtime *rt = g_new0(FlashRealtime, 1);
    FlashThreadConfig config = {
        .port = flash->port,
        .clock_ns = nvme_flash_clock_ns,
        .spin_ns = flash->spin_ns, /* -1 if the property is not set */
        .bound_ns = flash->lateness_bound_ns,
        .cpu = flash->cpu,
        .priority = flash->priority,
        /* completed() reads and writes guest memory, under RCU */
        .began = rcu_register_thread,
        .ended = rcu_unregister_thread,
        .ran = thread_ran,
        .completed = thread_completed,
        .woken = thread_woken,
        .opaque = flash,
    };

    rt->flash = flash;
    rt->lateness = flash_lateness_new(flash->logs.lateness,
                                      flash->lateness_bound_ns, errp);
    if (!rt->lateness) {
        g_free(rt);
        return NULL;
    }
    rt->zero_ns = nvme_flash_clock_ns() - scarp_now_ns(flash->drive);
    config.zero_ns = rt->zero_ns;
    rt->bh = qemu_bh_new(completed, flash);
    flash->realtime = rt;
    rt->thread = flash_thread_new(&config);
    if (!rt->thread) {
        error_setg(errp, "clock: the host has no event descriptor or "
                   "thread left");
        flash->realtime = NULL;
        qemu_bh_delete(rt->bh);
        flash_lateness_free(rt->lateness);
        g_free(rt);
        return NULL;
    }
    flash_thread_pause(rt->thread, !runstate_is_running());
    rt->state = qemu_add_vm_change_state_handler(machine_changed, rt);
    return rt;
}

void flash_realtime_pause(FlashRealtime *rt)
{
    flash_thread_pause(rt->thread, true);
}

void flash_realtime_stop(FlashRealtime *rt)
{
    /* The thread may be waiting for the big lock, to report a completion. */
    bql_unlock();
    flash_thread_stop(rt->thread);
    bql_lock();
}

bool flash_realtime_flush(FlashRealtime *rt, Error **errp)
{
    return flash_lateness_flush(rt->lateness, errp);
}

void flash_realtime_free(FlashRealtime *rt)
{
    qemu_del_vm_change_state_handler(rt->state);
    flash_thread_free(rt->thread);
    qemu_bh_delete(rt->bh);
    flash_lateness_free(rt->lateness);
    g_free(rt);
}
