/*
 * ship RESOURCE: copies standard input into a PCI BAR, which the host sees as a
 * file.
 *
 * Layout: u64 magic "SCARPTAR", u64 length, the bytes. The magic is stored
 * last, so that a guest that dies half-way has shipped nothing. The program
 * uses no C library: the compiler (trixie's tcc) then needs no headers, and the
 * program no loader.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
typedef unsigned long u64;

__asm__(".globl sys6\n"
        "sys6:\n"
        "mov %rdi, %rax\n"
        "mov %rsi, %rdi\n"
        "mov %rdx, %rsi\n"
        "mov %rcx, %rdx\n"
        "mov %r8, %r10\n"
        "mov %r9, %r8\n"
        "mov 8(%rsp), %r9\n"
        "syscall\n"
        "ret\n"
        ".globl _start\n"
        "_start:\n"
        "mov %rsp, %rdi\n"
        "and $-16, %rsp\n"
        "call start\n");

long sys6(long number, long a, long b, long c, long d, long e, long f);

enum { SYS_READ = 0, SYS_OPEN = 2, SYS_FSTAT = 5, SYS_MMAP = 9, SYS_EXIT = 60 };

static void leave(long status)
{
    sys6(SYS_EXIT, status, 0, 0, 0, 0, 0);
}

void start(u64 *stack)
{
    u64 stat[18];
    u64 length = 0;
    long fd, got;
    unsigned char *map;

    if (stack[0] != 2) {
        leave(2);
    }
    fd = sys6(SYS_OPEN, stack[2], 2, 0, 0, 0, 0);
    if (fd < 0 || sys6(SYS_FSTAT, fd, (long)stat, 0, 0, 0, 0) < 0) {
        leave(3);
    }
    /* word 6 is st_size; 3: PROT_READ | PROT_WRITE; 1: MAP_SHARED */
    map = (unsigned char *)sys6(SYS_MMAP, 0, stat[6], 3, 1, fd, 0);
    if ((u64)map > (u64)-4096) {
        leave(4);
    }
    while (1) {
        if (length + 16 == stat[6]) {
            leave(5);
        }
        got = sys6(SYS_READ, 0, (long)(map + 16 + length),
                   stat[6] - 16 - length, 0, 0, 0);
        if (got < 0) {
            leave(6);
        }
        if (got == 0) {
            break;
        }
        length += got;
    }
    ((u64 *)map)[1] = length;
    *(volatile u64 *)map = 0x5241545052414353ul;
    leave(0);
}
