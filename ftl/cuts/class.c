/*
 * The class of a power cut: the set of all work that the cut interrupts.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "cuts/class.h"

/*
 * Names of the bits, in the order of output. `begins` marks a name that begins
 * a group; a semicolon separates it from the group before.
 */
static const struct {
    const char *name;
    bool begins;
} parts[CUTS_CLASS_BITS] = {
    { "program of the host", false },
    { "program of GC", false },
    { "program of the mapping", false },
    { "program ahead of GC", false },
    { "program of parity", false },
    { "erase", false },
    { "reads alone", false },
    { "suspended", false },
    { "collection", true },
    { "switch merge", false },
    { "partial merge", false },
    { "full merge", false },
    { "merge that erases", false },
    { "buffered", true },
    { "flush", false },
    { "unrecorded deallocation", false },
    { "recovery", true },
};

static CutsClass of_drive(const ScarpDrive *drive)
{
    ScarpUnderWay is;
    CutsClass class = 0;
    uint32_t bit = 0;

    scarp_under_way(drive, &is);
    for (uint32_t i = 0; i < G_N_ELEMENTS(is.programs); i++) {
        class |= (CutsClass)(is.programs[i] > 0) << bit++;
    }
    class |= (CutsClass)(is.erases > 0) << bit++;
    class |= (CutsClass)(is.reads > 0 && !class) << bit++;
    class |= (CutsClass)(is.suspended > 0) << bit++;
    for (uint32_t i = 0; i < SCARP_MERGE__COUNT; i++) {
        class |= (CutsClass)(is.merges[i] > 0) << bit++;
    }
    class |= (CutsClass)(is.buffered_units > 0) << bit++;
    class |= (CutsClass)(is.flushes > 0) << bit++;
    class |= (CutsClass)(is.unrecorded_units > 0) << bit++;
    class |= (CutsClass)is.recovers << bit++;
    g_assert(bit == CUTS_CLASS_BITS);
    return class;
}

CutsClass cuts_class(const CutsWalk *walk)
{
    CutsClass class = 0;

    for (uint32_t i = 0; i < walk->n_drives; i++) {
        class |= of_drive(walk->drives[i].run.drive);
    }
    return class;
}

char *cuts_class_text(CutsClass class)
{
    GString *text = g_string_new(NULL);
    bool begins = false;

    for (uint32_t bit = 0; bit < CUTS_CLASS_BITS; bit++) {
        begins |= parts[bit].begins;
        if (class >> bit & 1) {
            g_string_append_printf(text, "%s%s",
                                   !text->len ? "" : begins ? "; " : ", ",
                                   parts[bit].name);
            begins = false;
        }
    }
    if (!text->len) {
        g_string_append(text, "nothing");
    }
    return g_string_free(text, false);
}
