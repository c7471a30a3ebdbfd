/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From reset to 64-bit mode, for each CPU.
 *
 * The image is the firmware (-bios).  The first CPU begins at its last 16 bytes.
 * The others are sent to page 0xf0, where the machine shows the image once more.
 * Physical memory is mapped as it is, up to 4 GiB.
 */

#define PML4            0x1000
#define PDPT            0x2000
#define PD              0x3000          /* four of them */
#define STACKS          0x90000         /* grows down; 16 KiB for each CPU */
#define IMAGE_VMA       0x100000
#define MSR_APIC_BASE   0x1b
#define APIC_BASE_BSP   (1 << 8)
#define MSR_EFER        0xc0000080
#define EFER_LME        (1 << 8)
#define CR0_PE          (1 << 0)
#define CR0_PG          (1 << 31)
#define CR4_PAE         (1 << 5)

    .section .boot, "ax"
    .code16
start16:
    cli
    cld
    lgdtl   %cs:(gdtr - start16)
    movl    $CR0_PE, %eax
    movl    %eax, %cr0
    ljmpl   $0x08, $start32

    .code32
start32:
    movw    $0x10, %ax
    movw    %ax, %ds
    movw    %ax, %es
    movw    %ax, %ss
    movl    $MSR_APIC_BASE, %ecx
    rdmsr
    testl   $APIC_BASE_BSP, %eax
    jz      paging

    /* The image runs in RAM. */
    movl    $image_lma, %esi
    movl    $IMAGE_VMA, %edi
    movl    $image_bytes, %ecx
    rep movsb

    movl    $(PDPT | 3), PML4
    movl    $PDPT, %edi
    movl    $(PD | 3), %eax
    movl    $4, %ecx
1:  movl    %eax, (%edi)
    addl    $0x1000, %eax
    addl    $8, %edi
    loop    1b

    /* Pages of 2 MiB. */
    movl    $PD, %edi
    movl    $0x83, %eax
    movl    $2048, %ecx
1:  movl    %eax, (%edi)
    addl    $0x200000, %eax
    addl    $8, %edi
    loop    1b

paging:
    movl    $CR4_PAE, %eax
    movl    %eax, %cr4
    movl    $PML4, %eax
    movl    %eax, %cr3
    movl    $MSR_EFER, %ecx
    rdmsr
    orl     $EFER_LME, %eax
    wrmsr
    movl    $(CR0_PG | CR0_PE), %eax
    movl    %eax, %cr0
    ljmpl   $0x18, $start64

    .code64
start64:
    movl    $1, %edi
    movabsq $cpus_started, %rax
    lock xaddl %edi, (%rax)
    movl    %edi, %eax
    shll    $14, %eax
    leaq    STACKS(%rax), %rsp
    movabsq $guest_main, %rax
    call    *%rax
1:  cli
    hlt
    jmp     1b

    .balign 8
gdt:
    .quad   0
    .quad   0x00cf9b000000ffff          /* 0x08: code, 32 bits */
    .quad   0x00cf93000000ffff          /* 0x10: data */
    .quad   0x00af9b000000ffff          /* 0x18: code, 64 bits */
gdtr:
    .word   gdtr - gdt - 1
    .long   gdt

    .section .reset, "ax"
    .code16
    jmp     start16
    .balign 16
