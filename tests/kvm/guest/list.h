/*
 * The list of commands that the host draws: tests/kvm/listed.py writes it.
 *
 * It is a sequence of steps of 32-bit words, little endian: the step's kind,
 * how many words follow, and these.  Addresses are physical; between LIST_RAM
 * and LIST_RAM_END nothing of the guest lies.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef BARE_LIST_H
#define BARE_LIST_H

enum {
    LIST_RAM = 0x2000000,
    LIST_RAM_END = 0x3000000,
};

enum {
    /* address, words: stores them */
    STEP_STORE = 1,
    /* address, n, word: stores n times that word */
    STEP_FILL = 2,
    /* queue, 16 words of the command: pushes and rings */
    STEP_SUBMIT = 3,
    /*
     * queue, command identifier, status or STEP_ANY: waits until that command
     * has ended.  Others may end before; their turn comes.
     */
    STEP_END = 4,
    /* address, words: they must be there */
    STEP_EQUAL = 5,
    /* address, n, word: it must be there n times */
    STEP_ALL = 6,
};

#define STEP_ANY 0xffffffff

#endif /* BARE_LIST_H */
