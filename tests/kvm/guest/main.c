/*
 * A guest without an operating system, which drives the NVMe device by itself.
 *
 * It runs where no Linux boots: on a KVM that interprets its guests, too.  QEMU
 * loads it as a multiboot kernel.  Its command line names tasks and a number
 * for each: "polled=300 resets=20".  They run in that order; the last line is
 * "end".
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "machine.h"
#include "nvme.h"
#include "say.h"
#include "tasks.h"

/* Multiboot 0.6.96, 3.3: what the loader tells. */
#define HAS_COMMAND_LINE 4
#define HAS_MODULES 8

typedef struct Multiboot {
    uint32_t flags, memory[2], boot_device;
    const char *command_line;
    uint32_t n_modules;
    const struct {
        uint32_t begin, end;
    } *modules;
} Multiboot;

typedef struct {
    const char *name;
    void (*run)(uint32_t n);
} Task;

static const Task tasks[] = {
    { "polled", task_polled },
    { "interrupts", task_interrupts },
    { "shadow", task_shadow },
    { "processors", task_processors },
    { "resets", task_resets },
    { "deletions", task_deletions },
    { "doorbells", task_doorbells },
    { "stops", task_stops },
    { "latency", task_latency },
    { "list", task_list },
    { "count", task_count },
    { "reboot", task_reboot },
    { "again", task_again },
};

/* GCC may call these for any assignment of a record. */
void *memcpy(void *to, const void *from, size_t n);
void *memset(void *to, int value, size_t n);

void *memcpy(void *to, const void *from, size_t n)
{
    void *end = to;

    __asm__ volatile("rep movsb" : "+D"(end), "+S"(from), "+c"(n) : : "memory");
    return to;
}

void *memset(void *to, int value, size_t n)
{
    void *end = to;

    __asm__ volatile("rep stosb" : "+D"(end), "+c"(n) : "a"(value) : "memory");
    return to;
}

/* Whether the word at *text is that name and "="; *text is behind it then. */
static bool takes(const char **text, const char *name)
{
    const char *at = *text;

    while (*name && *at == *name) {
        at++;
        name++;
    }
    if (*name || *at != '=') {
        return false;
    }
    *text = at + 1;
    return true;
}

static uint32_t take_number(const char **text)
{
    uint32_t number = 0;

    for (; **text >= '0' && **text <= '9'; (*text)++) {
        number = 10 * number + (**text - '0');
    }
    return number;
}

static void run_task(const char **text)
{
    for (size_t i = 0; i < sizeof(tasks) / sizeof(tasks[0]); i++) {
        if (takes(text, tasks[i].name)) {
            tasks[i].run(take_number(text));
            return;
        }
    }
    fail("no such task", (uint8_t)(*text)[0], (uint8_t)(*text)[1]);
}

void first_main(const Multiboot *loaded)
{
    const char *text = loaded->command_line;

    machine_init();
    nvme_find();
    if (loaded->flags & HAS_MODULES && loaded->n_modules) {
        list_init((const void *)loaded->modules->begin,
                  loaded->modules->end - loaded->modules->begin);
    }
    if (!(loaded->flags & HAS_COMMAND_LINE)) {
        fail("no command line", loaded->flags, 0);
    }
    /* The kernel's name comes first. */
    while (*text && *text != ' ') {
        text++;
    }
    while (*text == ' ') {
        text++;
        if (*text) {
            run_task(&text);
        }
    }
    nvme_disable();
    say("end\n");
}
