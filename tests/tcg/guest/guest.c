/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A guest without a kernel, for what decides which translation block follows.
 *
 * It writes lines of TAP to port 0xe9, and ends QEMU by port 0x501.  What it is
 * to do is in memory at 0x500, put there by -device loader:
 *   1  all that one CPU can check
 *   2  the same, with time that is counted in instructions (-icount)
 *   3  call target() until BUDGET is used up, for a debugger
 *   4  code that one CPU rewrites and the others call; needs -smp 4
 */
#include <stdbool.h>
#include <stdint.h>

enum { CHECKS = 1, CHECKS_ICOUNT, CALLS, CPUS };

#define SCENARIO        (*(volatile uint32_t *)0x500)
/* A debugger writes it: in a page without code, so that no block is dropped. */
#define BUDGET          (*(volatile uint64_t *)0x508)
#define APIC(reg)       (*(volatile uint32_t *)(0xfee00000UL + (reg)))
#define APIC_EOI        0x0b0
#define APIC_SPURIOUS   0x0f0
#define APIC_ICR        0x300
#define APIC_TIMER      0x320
#define APIC_LINT0      0x350
#define APIC_COUNT      0x380
#define APIC_DIVIDE     0x3e0
#define ICR_SELF        (1 << 18)
#define ICR_OTHERS      (3 << 18)
#define ICR_ASSERT      (1 << 14)
#define ICR_INIT        (5 << 8)
#define ICR_SIPI        (6 << 8)
#define TIMER_PERIODIC  (1 << 17)

#define VECTOR_DEBUG    1
#define VECTOR_IPI      0x40
#define VECTOR_TIMER    0x41

#define RFLAGS_IF       (1UL << 9)
#define RFLAGS_RF       (1UL << 16)
#define PAGE            4096

typedef uint32_t Function(void);

struct frame {
    uint64_t rip, cs, rflags, rsp, ss;
};

struct gate {
    uint16_t low, selector;
    uint8_t stack, type;
    uint16_t middle;
    uint32_t high, zero;
};

volatile uint32_t cpus_started;
volatile uint64_t interrupts;           /* read by asm below */
static volatile uint64_t ticks, traps;
static bool failed;
static struct gate idt[256];

/* For a debugger. */
volatile uint64_t calls;

static void out8(uint16_t port, uint8_t value)
{
    asm volatile("outb %0, %1" : : "a"(value), "d"(port));
}

static void print(const char *text)
{
    while (*text) {
        out8(0xe9, *text++);
    }
}

static void print_number(uint64_t value)
{
    char digits[21];
    char *at = digits + 20;

    *at = 0;
    do {
        *--at = '0' + value % 10;
        value /= 10;
    } while (value);
    print(at);
}

static void check(const char *what, bool good)
{
    print(good ? "ok " : "not ok ");
    print(what);
    print("\n");
    failed |= !good;
}

static uint64_t tsc(void)
{
    uint32_t low, high;

    asm volatile("rdtsc" : "=a"(low), "=d"(high));
    return low | (uint64_t)high << 32;
}

static void __attribute__((interrupt)) on_ipi(struct frame *frame)
{
    interrupts++;
    APIC(APIC_EOI) = 0;
}

static void __attribute__((interrupt)) on_timer(struct frame *frame)
{
    ticks++;
    APIC(APIC_EOI) = 0;
}

static void __attribute__((interrupt)) on_debug(struct frame *frame)
{
    traps++;
    frame->rflags |= RFLAGS_RF;
}

static void set_gate(int vector, void (*handler)(struct frame *))
{
    uint64_t at = (uint64_t)handler;

    idt[vector] = (struct gate) {
        .low = at, .selector = 0x18, .type = 0x8e, .middle = at >> 16,
        .high = at >> 32,
    };
}

static void enable_interrupts_of_this_cpu(void)
{
    struct { uint16_t limit; uint64_t base; } __attribute__((packed)) idtr = {
        sizeof(idt) - 1, (uint64_t)idt
    };

    asm volatile("lidt %0" : : "m"(idtr));
    APIC(APIC_LINT0) = 1 << 16;
    APIC(APIC_SPURIOUS) = 0x1ff;
}

/* Code of its own page, as calls across pages are looked up. */
__attribute__((aligned(PAGE), noinline)) void target(void)
{
    calls++;
}

static void (*volatile const target_pointer)(void) = target;

static void __attribute__((aligned(PAGE), noinline)) call_target(uint64_t times)
{
    while (times--) {
        target_pointer();
    }
}

/* mov $value, %eax; ret */
static void write_function(volatile uint8_t *at, uint32_t value)
{
    at[0] = 0xb8;
    for (int i = 0; i < 4; i++) {
        at[1 + i] = value >> (8 * i);
    }
    at[5] = 0xc3;
}

/*
 * Leaves an interrupt pending while RFLAGS.IF is clear or the task priority is
 * high.  QEMU stops the next block because of the request, and the blocks after
 * that one run although the request is still there: only a look at the request
 * itself finds it once it is let in.
 */
static void __attribute__((noinline)) leave_an_interrupt_pending(bool pending)
{
    if (pending) {
        APIC(APIC_ICR) = ICR_SELF | ICR_ASSERT | VECTOR_IPI;
    }
    for (int i = 0; i < 3; i++) {
        target_pointer();
    }
}

/*
 * An interrupt is pending; each of these lets it in.  Every second time none
 * is: then the blocks that follow are translated.  A block that is missing is
 * looked for in the main loop, which would find the interrupt in any case.
 */
static void interrupts_are_let_in(void)
{
    uint64_t shadow, seen, before;
    bool sti = true, popf = true, iret = true, cr8 = true;

    for (int i = 0; i < 300; i++) {
        bool pending = i & 1;

        before = interrupts;
        leave_an_interrupt_pending(pending);
        asm volatile("sti\n\t"
                     "mov interrupts, %0\n\t"
                     "mov interrupts, %1\n\t"
                     "cli" : "=&r"(shadow), "=&r"(seen) : : "memory");
        sti &= shadow == before && seen == before + pending;

        before = interrupts;
        leave_an_interrupt_pending(pending);
        asm volatile("pushfq\n\t"
                     "orq %1, (%%rsp)\n\t"
                     "popfq\n\t"
                     "mov interrupts, %0\n\t"
                     "cli" : "=&r"(seen) : "i"(RFLAGS_IF) : "memory");
        popf &= seen == before + pending;

        before = interrupts;
        leave_an_interrupt_pending(pending);
        asm volatile("mov %%rsp, %%rax\n\t"
                     "pushq $0x10\n\t"
                     "pushq %%rax\n\t"
                     "pushfq\n\t"
                     "orq %1, (%%rsp)\n\t"
                     "pushq $0x18\n\t"
                     "pushq $1f\n\t"
                     "iretq\n"
                     "1:\tmov interrupts, %0\n\t"
                     "cli" : "=&r"(seen) : "i"(RFLAGS_IF) : "rax", "memory");
        iret &= seen == before + pending;

        before = interrupts;
        asm volatile("mov %0, %%cr8\n\tsti\n\tnop" : : "r"(15UL) : "memory");
        leave_an_interrupt_pending(pending);
        cr8 &= interrupts == before;
        asm volatile("mov %1, %%cr8\n\t"
                     "mov interrupts, %0\n\t"
                     "cli" : "=&r"(seen) : "r"(0UL) : "memory");
        cr8 &= seen == before + pending;
    }
    check("STI lets a pending interrupt in after one instruction", sti);
    check("POPF lets a pending interrupt in", popf);
    check("IRET lets a pending interrupt in", iret);
    check("MOV to CR8 lets a pending interrupt in", cr8);
}

/* With icount, an instruction that does I/O is the last before an interrupt. */
static void interrupts_follow_io(void)
{
    uint64_t seen, before;
    bool good = true;

    asm volatile("sti");
    for (int i = 0; i < 1000; i++) {
        before = interrupts;
        asm volatile("movl %1, (%2)\n\t"
                     "mov interrupts, %0"
                     : "=&r"(seen)
                     : "r"(ICR_SELF | ICR_ASSERT | VECTOR_IPI),
                       "r"(&APIC(APIC_ICR)) : "memory");
        good &= seen == before + 1;
    }
    asm volatile("cli");
    check("an interrupt comes right after the I/O that asks for it", good);
}

static void repetitions(void)
{
    static uint8_t from[3 * PAGE], to[3 * PAGE];
    uint64_t before = ticks;
    bool good = true;

    APIC(APIC_DIVIDE) = 0xb;
    APIC(APIC_TIMER) = TIMER_PERIODIC | VECTOR_TIMER;
    APIC(APIC_COUNT) = 20000;
    for (int round = 0; round < 100 || ticks < before + 3; round++) {
        uint64_t count = sizeof(from) - round % 5;
        uint8_t *source = from, *dest = to;

        for (unsigned i = 0; i < sizeof(from); i++) {
            from[i] = i * 7 + round;
            to[i] = 0;
        }
        asm volatile("sti\n\t"
                     "rep movsb\n\t"
                     "cli" : "+S"(source), "+D"(dest), "+c"(count) : : "memory");
        for (unsigned i = 0; i < sizeof(from); i++) {
            good &= to[i] == (i < sizeof(from) - round % 5 ? from[i] : 0);
        }
        good &= !count;
        /* repne scasb for a byte that comes at its 8th place */
        count = 64;
        dest = to;
        to[7] = 0xff;
        for (int i = 0; i < 7; i++) {
            to[i] = i;
        }
        asm volatile("sti\n\t"
                     "repne scasb\n\t"
                     "cli" : "+D"(dest), "+c"(count) : "a"(0xff) : "memory");
        good &= dest == to + 8 && count == 56;
    }
    APIC(APIC_COUNT) = 0;
    check("REP with interrupts in between moves each byte once", good);
}

static void remapped_code(void)
{
    uint64_t *pd = (uint64_t *)0x4000, *pt = (uint64_t *)0x7000;
    const uint64_t va = 0x40000000, pa = 0x200000;
    volatile uint8_t *code = (uint8_t *)pa;
    Function *volatile whole = (Function *)va;
    Function *volatile across = (Function *)(va + PAGE - 3);
    bool one = true, two = true, all = true;

    /* 0 and 2 hold the begin of across(), and whole(); 1 and 3 its end. */
    write_function(code, 1);
    write_function(code + 2 * PAGE, 2);
    write_function(code + PAGE - 3, 0x10101);
    write_function(code + 3 * PAGE - 3, 0x20202);
    pd[0] = (uint64_t)pt | 3;
    pt[0] = pa | 3;
    pt[1] = (pa + PAGE) | 3;
    asm volatile("mov %%cr3, %%rax\n\tmov %%rax, %%cr3" : : : "rax", "memory");
    for (unsigned i = 0; i < 200; i++) {
        unsigned which = i % 2;

        pt[0] = (pa + 2 * PAGE * which) | 3;
        asm volatile("invlpg (%0)" : : "r"(va) : "memory");
        one &= whole() == 1 + which;
        /* The first two bytes of its number are in the first page. */
        (void)across();
        pt[1] = (pa + PAGE + 2 * PAGE * which) | 3;
        asm volatile("invlpg (%0)" : : "r"(va + PAGE) : "memory");
        two &= across() == (which ? 0x20202 : 0x10101);
        for (unsigned turn = 1; turn <= 2; turn++) {
            unsigned other = (which + turn) % 2;

            pt[0] = (pa + 2 * PAGE * other) | 3;
            asm volatile("mov %%cr3, %%rax\n\t"
                         "mov %%rax, %%cr3" : : : "rax", "memory");
            all &= whole() == 1 + other;
        }
    }
    check("INVLPG: the code of a page that is mapped anew", one);
    check("INVLPG: code whose second page is mapped anew", two);
    check("MOV to CR3: the code of a page that is mapped anew", all);
}

static void rewritten_code(void)
{
    /* Volatile: each store is made, and each call reads the pointer. */
    volatile uint8_t *code = (uint8_t *)0x300000;
    Function *volatile function = (Function *)code; /* volatile: as code */
    bool good = true;

    for (uint32_t i = 0; i < 300; i++) {
        write_function(code, i);
        good &= function() == i && function() == i;
    }
    check("code that is rewritten", good);
}

static void debug_registers(void)
{
    bool good = true;

    call_target(1000);
    for (int i = 0; i < 10; i++) {
        uint64_t before = traps, called = calls;

        asm volatile("mov %0, %%dr0" : : "r"(target));
        asm volatile("mov %0, %%dr7" : : "r"(1UL));
        call_target(10);
        good &= traps == before + 10;
        asm volatile("mov %0, %%dr7" : : "r"(0UL));
        call_target(1000);
        good &= traps == before + 10 && calls == called + 1010;
    }
    check("a breakpoint in DR0 traps each call", good);
}

static void checks(void)
{
    interrupts_are_let_in();
    if (SCENARIO == CHECKS_ICOUNT) {
        interrupts_follow_io();
    }
    repetitions();
    remapped_code();
    rewritten_code();
    debug_registers();
}

static void __attribute__((aligned(PAGE), noinline)) calls_for_a_debugger(void)
{
    BUDGET = ~0UL;
    call_target(10000);
    print("warm\n");
    while (BUDGET) {
        BUDGET--;
        target_pointer();
    }
}

/* One CPU rewrites a function, again and again, that the others call. */

#define OTHERS          3
/* Volatile: each store to the code is made. */
#define REWRITTEN       ((volatile uint8_t *)0x310000)

/* Volatile: other CPUs write these counts. */
static volatile uint32_t generation, answers, wrong;

static void call_what_another_rewrites(void)
{
    /* Volatile: each call reads the pointer. */
    Function *volatile function = (Function *)REWRITTEN;
    uint32_t last = 0;

    for (;;) {
        uint32_t now = generation;

        if (now == last) {
            /* The interrupt that tells of the next one is still to come. */
            asm volatile("sti\n\thlt\n\tcli" : : : "memory");
            continue;
        }
        /*
         * Rewritten before `generation` said so, and not again before this CPU
         * has answered: TCG has no answer to code that runs meanwhile.
         */
        for (int i = 0; i < 20; i++) {
            if (function() != now) {
                __atomic_add_fetch(&wrong, 1, __ATOMIC_SEQ_CST);
            }
        }
        last = now;
        __atomic_add_fetch(&answers, 1, __ATOMIC_SEQ_CST);
    }
}

static void rewrite_what_others_call(void)
{
    const uint32_t times = 300;

    write_function(REWRITTEN, 0);
    APIC(APIC_ICR) = ICR_OTHERS | ICR_ASSERT | ICR_INIT;
    for (uint64_t until = tsc() + 1000000; tsc() < until; ) {
        asm volatile("pause");
    }
    APIC(APIC_ICR) = ICR_OTHERS | ICR_ASSERT | ICR_SIPI | 0xf0;
    while (cpus_started < 1 + OTHERS) {
        asm volatile("pause");
    }
    for (uint32_t i = 1; i <= times; i++) {
        /* One byte, so that no CPU sees half of it. */
        REWRITTEN[1] = i % 251;
        __atomic_store_n(&generation, i % 251, __ATOMIC_SEQ_CST);
        APIC(APIC_ICR) = ICR_OTHERS | ICR_ASSERT | VECTOR_IPI;
        while (answers < OTHERS * i) {
            asm volatile("pause");
        }
    }
    check("code that another CPU rewrites", !wrong);
}

static void end(void)
{
    print("tsc ");
    print_number(SCENARIO == CHECKS ? 0 : tsc());
    print(failed ? "\nfailed\n" : "\ndone\n");
    out8(0x501, failed);
    while (true) {
        asm volatile("pause");
    }
}

void guest_main(uint32_t cpu)
{
    if (cpu) {
        enable_interrupts_of_this_cpu();
        call_what_another_rewrites();
    }
    out8(0x21, 0xff);
    out8(0xa1, 0xff);
    set_gate(VECTOR_DEBUG, on_debug);
    set_gate(VECTOR_IPI, on_ipi);
    set_gate(VECTOR_TIMER, on_timer);
    enable_interrupts_of_this_cpu();
    switch (SCENARIO) {
    case CALLS:
        calls_for_a_debugger();
        break;
    case CPUS:
        rewrite_what_others_call();
        break;
    default:
        checks();
        break;
    }
    end();
}
