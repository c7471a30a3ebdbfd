/*
 * Where both processors begin, and where interrupts arrive.
 *
 * KVM without hardware support interprets this guest with an emulator that
 * lacks IRET in protected mode.  So interrupts return by POPF and RET.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
        .equ CODE, 8            /* selectors in gdt */
        .equ DATA, 16
        .equ STACK_BYTES, 16384
        .equ SECOND_AT, 0x8000  /* where the second processor starts */

        .section .multiboot, "a"
        .align 4
        .long 0x1BADB002        /* magic */
        .long 3                 /* modules on pages; tell of memory */
        .long -(0x1BADB002 + 3) /* checksum */

        .macro LOAD_SEGMENTS
        movl $DATA, %eax
        movl %eax, %ds
        movl %eax, %es
        movl %eax, %ss
        movl %eax, %fs
        movl %eax, %gs
        .endm

        .text
        .globl start
start:  cli
        cld
        movl $first_stack_end, %esp
        lgdt gdt_pointer
        ljmp $CODE, $1f
1:      LOAD_SEGMENTS
        pushl $0
        popfl
        pushl %ebx              /* the multiboot information */
        call first_main
2:      cli
        hlt
        jmp 2b

        .align 8
gdt:    .quad 0
        .quad 0x00cf9b000000ffff /* CODE: flat, 32 bits */
        .quad 0x00cf93000000ffff /* DATA: flat, 32 bits */
gdt_pointer:
        .word 23
        .long gdt

/* One stub of 16 bytes for each vector: it pushes its number. */
        .globl interrupt_stubs
        .align 16
        .set vector, 0
interrupt_stubs:
        .rept 96
        .align 16
        pushl $vector
        jmp arrived
        .set vector, vector + 1
        .endr

arrived:
        pushal
        cld
        pushl 32(%esp)          /* the vector */
        call interrupt_arrived
        addl $4, %esp
        popal
        addl $4, %esp
        /* On the stack are EIP, CS and EFLAGS; POPF and RET want EFLAGS, EIP. */
        pushl %eax
        movl 12(%esp), %eax
        movl %eax, 8(%esp)
        movl 4(%esp), %eax
        movl %eax, 12(%esp)
        popl %eax
        leal 4(%esp), %esp
        popfl
        ret

/* Copied to SECOND_AT, where the second processor begins in real mode. */
        .globl second_code, second_code_end
        .code16
second_code:
        cli
        xorw %ax, %ax
        movw %ax, %ds
        lgdtl SECOND_AT + (second_gdt - second_code)
        movl %cr0, %eax
        orb $1, %al
        movl %eax, %cr0
        ljmpl $CODE, $second_flat
second_gdt:
        .word 23
        .long gdt
second_code_end:
        .code32
second_flat:
        LOAD_SEGMENTS
        movl $second_stack_end, %esp
        call second_main
3:      cli
        hlt
        jmp 3b

        .bss
        .align 16
        .skip STACK_BYTES
first_stack_end:
        .skip STACK_BYTES
second_stack_end:
        .section .note.GNU-stack, "", @progbits
