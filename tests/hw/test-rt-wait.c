/*
 * How the thread of a drive on the host's clock waits, and what it learns from
 * that, to the nanosecond.  Tests in a guest see no more than how late a
 * completion was, and that is the host's fault as well.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "rt-world.h"

/* ---- The lock ------------------------------------------------------------- */

/*
 * It is polled for while that is quicker than being woken: from the first look at
 * the clock, at 100 ns, until the one at 20100 ns.  Then it is slept for.
 */
static void test_lock(void)
{
    FlashThread *thread = begin();

    world.free_ns = world.now_ns + FLASH_THREAD_LOCK_POLL_NS;
    flash_thread_take(thread, &engine_lock, thread);
    g_assert_cmpuint(world.blocked, ==, 0);
    g_assert_cmpint(engine_ns(), ==, FLASH_THREAD_LOCK_POLL_NS);

    world.free_ns = world.now_ns + FLASH_THREAD_LOCK_POLL_NS + LOOK_NS + 1;
    flash_thread_take(thread, &engine_lock, thread);
    g_assert_cmpuint(world.blocked, ==, 1);
    end();
}

/* A holder that is to run on the thread's core is slept for at once. */
static void test_lock_of_own_core(void)
{
    FlashThread *thread = begin();

    world.core = 3;
    thread->lock_core = 3;
    world.free_ns = world.now_ns + FLASH_THREAD_LOCK_POLL_NS;
    flash_thread_take(thread, &engine_lock, thread);
    g_assert_cmpuint(world.blocked, ==, 1);
    g_assert_cmpint(thread->lost_polls, ==, 0);

    world.core = 4;
    thread->lock_core = 3;
    world.free_ns = world.now_ns + FLASH_THREAD_LOCK_POLL_NS;
    flash_thread_take(thread, &engine_lock, thread);
    g_assert_cmpuint(world.blocked, ==, 1);
    end();
}

/* ---- What it learns ------------------------------------------------------- */

/* How early it gets up: as the sleep before was late, and a quarter more. */
static void test_margin(void)
{
    FlashThread *thread = begin();

    g_assert_cmpint(thread->margin_ns, ==, SPIN_NS);
    adapt_margin(thread, SPIN_NS);
    g_assert_cmpint(thread->margin_ns, ==, SPIN_NS);
    /* more than polling could make up for: the host is busy */
    adapt_margin(thread, SPIN_NS + 1);
    g_assert_cmpint(thread->margin_ns, ==, SPIN_NS / 2);
    adapt_margin(thread, SPIN_NS + 1);
    g_assert_cmpint(thread->margin_ns, ==, 12500);
    adapt_margin(thread, 12500);
    g_assert_cmpint(thread->margin_ns, ==, 12500);
    adapt_margin(thread, 20000);
    g_assert_cmpint(thread->margin_ns, ==, 25000);
    /* a 64th of what it was too early */
    adapt_margin(thread, 12200);
    g_assert_cmpint(thread->margin_ns, ==, 24800);
    adapt_margin(thread, 45000);
    g_assert_cmpint(thread->margin_ns, ==, SPIN_NS);
    end();
}

/* How long it polls for commands: it doubles where that would have seen one. */
static void test_idle(void)
{
    static const int64_t grows[] = { 2000, 4000, 8000, 16000, 32000, SPIN_NS,
                                     SPIN_NS };
    FlashThread *thread = begin();

    for (unsigned i = 0; i < G_N_ELEMENTS(grows); i++) {
        adapt_idle(thread, SPIN_NS - 1);
        g_assert_cmpint(thread->idle_ns, ==, grows[i]);
    }
    adapt_idle(thread, SPIN_NS);
    g_assert_cmpint(thread->idle_ns, ==, SPIN_NS / 2);
    end();

    begin_with((FlashThreadConfig) { .spin_ns = 1500 });
    adapt_idle(scene, 0);
    g_assert_cmpint(scene->idle_ns, ==, 1500);
    end();
}

/* How far ahead it runs events: at rest where one of 16 is told too late. */
static void test_lead(void)
{
    static const struct {
        int64_t early_ns, lead_ns;
    } told[] = {
        { 0, 0 }, { 700, 0 },
        { -1, 750 }, { 0, 700 }, { 1, 650 },
        /* who was that late was not there */
        { -2500, 650 }, { -2499, 1400 },
        { -1, 2150 }, { -1, 2500 }, { -1, 2500 }, { 2000, 2450 },
    };
    FlashThread *thread = begin();

    for (unsigned i = 0; i < G_N_ELEMENTS(told); i++) {
        flash_thread_was_early(thread, told[i].early_ns);
        g_assert_cmpint(thread->lead_ns, ==, told[i].lead_ns);
    }
    end();
}

/* ---- Polling -------------------------------------------------------------- */

static void test_poll(void)
{
    FlashThread *thread = begin();
    FlashThreadUse use;

    /* the look that begins it is at 100 ns, the last one is at its end */
    g_assert_false(poll_until(thread, 5000));
    g_assert_cmpint(engine_ns(), ==, 5000);
    flash_thread_use(thread, &use);
    g_assert_cmpint(use.polled_ns, ==, 4900);
    g_assert_cmpuint(world.sleeps, ==, 0);

    flash_thread_kick(thread);
    g_assert_true(poll_until(thread, SCARP_TIME_NEVER));
    atomic_store(&thread->again, false);
    atomic_store(&thread->paused, true);
    g_assert_true(poll_until(thread, SCARP_TIME_NEVER));
    atomic_store(&thread->paused, false);
    atomic_store(&thread->stop, true);
    g_assert_true(poll_until(thread, SCARP_TIME_NEVER));
    end();
}

/* The machine is being stopped: somebody may need this core for that. */
static void test_poll_still(void)
{
    FlashThread *thread = begin();
    int64_t looks;

    world.still = true;
    world.still_ns = ZERO_NS + 500;
    g_assert_true(poll_until(thread, 501));
    g_assert_cmpuint(world.sleeps, ==, 1);
    g_assert_cmpint(world.timeout_ns, ==, STILL_NS);
    looks = (engine_ns() - STILL_NS) / LOOK_NS;
    g_assert_cmpint(looks, ==, STILL_ROUNDS + 1);
    end();
}

/* A completion is told when it is due, but not held back for ever. */
static void test_hold_back(void)
{
    FlashThread *thread = begin();
    FlashThreadUse use;

    flash_thread_kick(thread); /* it does not end the wait */
    hold_back(thread, 1000);
    g_assert_cmpint(engine_ns(), ==, 1000);
    hold_back(thread, 1000);
    g_assert_cmpint(engine_ns(), ==, 1100);
    flash_thread_use(thread, &use);
    g_assert_cmpint(use.polled_ns, ==, 900);

    world.still = true;
    world.still_ns = ZERO_NS + 1000;
    hold_back(thread, 1001);
    g_assert_cmpint(engine_ns(), >, STILL_ROUNDS * LOOK_NS);
    end();
}

/* ---- Sleeping ------------------------------------------------------------- */

static void test_sleep(void)
{
    FlashThread *thread = begin();

    thread->margin_ns = 10000;
    world.late_ns = 8000;
    /* 100 ns have gone when it knows what time it is */
    sleep_until(thread, 50000);
    g_assert_cmpint(world.timeout_ns, ==, 39900);
    g_assert_true(world.seen_sleeping);
    g_assert_false(atomic_load(&thread->sleeping));
    /* the look at its end, too, was as late as it seems */
    g_assert_cmpint(thread->margin_ns, ==, 10000 - (10000 - 8100) / 64);

    /* not for less than its margin */
    thread->margin_ns = 10000;
    world.sleeps = 0;
    sleep_until(thread, engine_ns() + 10000 + LOOK_NS);
    g_assert_cmpuint(world.sleeps, ==, 0);
    sleep_until(thread, engine_ns() + 10001 + LOOK_NS);
    g_assert_cmpuint(world.sleeps, ==, 1);
    g_assert_cmpint(world.timeout_ns, ==, 1);
    g_assert_cmpint(thread->kicked_after_ns, ==, -1);
    end();
}

/* Of a sleep that a kick has ended nobody knows how late it would have been. */
static void test_sleep_kicked(void)
{
    FlashThread *thread = begin();
    FlashThreadUse use;

    thread->margin_ns = 10000;
    world.kicked_ns = 3000;
    sleep_until(thread, SCARP_TIME_NEVER);
    g_assert_cmpint(world.timeout_ns, ==, -1);
    g_assert_cmpint(thread->kicked_after_ns, ==, 3100);
    sleep_until(thread, 50000);
    g_assert_cmpint(world.timeout_ns, >, 3000);
    g_assert_cmpint(thread->kicked_after_ns, ==, 3100);
    g_assert_cmpint(thread->margin_ns, ==, 10000);
    flash_thread_use(thread, &use);
    g_assert_cmpuint(use.sleeps, ==, 2);

    /* what was asked for before it was seen to sleep */
    flash_thread_kick(thread);
    sleep_until(thread, SCARP_TIME_NEVER);
    g_assert_cmpuint(world.sleeps, ==, 2);
    g_assert_false(atomic_load(&thread->sleeping));
    end();
}

/* A clock that stood still meanwhile says nothing of how late it was. */
static void test_sleep_still(void)
{
    FlashThread *thread = begin();

    thread->margin_ns = 10000;
    world.still = true;
    world.still_ns = ZERO_NS;
    world.late_ns = 30000;
    sleep_until(thread, 50000);
    g_assert_cmpint(world.timeout_ns, ==, 40000);
    g_assert_cmpint(thread->margin_ns, ==, 10000);
    end();
}

/* Memory is found where there is time for it, and only for what is needed. */
static void test_stock(void)
{
    FlashThread *thread = begin();

    world.to_stock = 3;
    stock(thread, 100000);
    g_assert_cmpuint(world.stocked, ==, 3);

    world.stocked = 0;
    world.to_stock = UINT_MAX;
    world.now_ns = ZERO_NS;
    stock(thread, STOCK_NS + 5 * LOOK_NS);
    g_assert_cmpuint(world.stocked, ==, 4);
    stock(thread, engine_ns() + STOCK_NS);
    g_assert_cmpuint(world.stocked, ==, 4);
    world.free_ns = world.now_ns + 1000000;
    stock(thread, SCARP_TIME_NEVER);
    g_assert_cmpuint(world.stocked, ==, 4);
    world.free_ns = 0;
    flash_thread_kick(thread);
    stock(thread, SCARP_TIME_NEVER);
    g_assert_cmpuint(world.stocked, ==, 4);
    end();
}

/* It polls for commands, sleeps, and polls for the event. */
static void test_wait(void)
{
    FlashThread *thread = begin();
    FlashThreadUse use;

    thread->margin_ns = 10000;
    thread->lead_ns = 1000;
    thread->idle_ns = 3000;
    world.late_ns = 4000;
    wait_for(thread, 101000);
    g_assert_cmpint(engine_ns(), ==, 100000);
    g_assert_cmpuint(world.sleeps, ==, 1);
    flash_thread_use(thread, &use);
    /* it slept for what is left of 90 us, and got up after 94 */
    g_assert_cmpint(use.polled_ns, <, 3000 + 6000 + 1);
    g_assert_cmpint(use.polled_ns, >, 3000 + 6000 - 10 * LOOK_NS);
    g_assert_cmpuint(world.stocked, ==, 1);

    /* it is time already, less what it runs ahead */
    world.sleeps = 0;
    wait_for(thread, engine_ns() + LOOK_NS + 1000);
    g_assert_cmpuint(world.sleeps, ==, 0);
    g_assert_cmpuint(world.stocked, ==, 1);

    /* somebody has something to do */
    world.kicked_ns = 2000;
    thread->idle_ns = 0;
    wait_for(thread, engine_ns() + 1000000);
    g_assert_cmpuint(world.sleeps, ==, 1);
    g_assert_cmpint(thread->kicked_after_ns, ==, 2100);
    end();
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/rt-thread/lock", test_lock);
    g_test_add_func("/rt-thread/lock-of-own-core", test_lock_of_own_core);
    g_test_add_func("/rt-thread/learns/margin", test_margin);
    g_test_add_func("/rt-thread/learns/idle", test_idle);
    g_test_add_func("/rt-thread/learns/lead", test_lead);
    g_test_add_func("/rt-thread/poll", test_poll);
    g_test_add_func("/rt-thread/poll/still", test_poll_still);
    g_test_add_func("/rt-thread/hold-back", test_hold_back);
    g_test_add_func("/rt-thread/sleep", test_sleep);
    g_test_add_func("/rt-thread/sleep/kicked", test_sleep_kicked);
    g_test_add_func("/rt-thread/sleep/still", test_sleep_still);
    g_test_add_func("/rt-thread/stock", test_stock);
    g_test_add_func("/rt-thread/wait", test_wait);
    return g_test_run();
}
