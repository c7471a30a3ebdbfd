/*
 * The policies' tables, for drive/scheme.c, which lists all policies, and for
 * policies that set a policy on a second axis, too (ScarpPolicy.brings). Few
 * files include this header, so few files are compiled anew when a policy is
 * added.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_POLICIES_H
#define SCARP_POLICIES_H

#include "policy.h"

extern const ScarpHilOps scarp_hil_noop, scarp_hil_deadline,
    scarp_hil_anticipatory, scarp_hil_flash_aware, scarp_hil_hios_1,
    scarp_hil_hios_2;
extern const ScarpAllocOps scarp_alloc_static, scarp_alloc_dynamic,
    scarp_alloc_striped, scarp_alloc_reclaim;
extern const ScarpVictimOps scarp_victim_greedy, scarp_victim_fifo,
    scarp_victim_random, scarp_victim_d_choices, scarp_victim_cost_benefit,
    scarp_victim_read_match;
extern const ScarpPacingOps scarp_pacing_blocking, scarp_pacing_ideal,
    scarp_pacing_preemptive, scarp_pacing_gftl, scarp_pacing_pagc,
    scarp_pacing_rotating, scarp_pacing_redistributed;
extern const ScarpMultiplaneOps scarp_multiplane_none, scarp_multiplane_host,
    scarp_multiplane_gc_par;
extern const ScarpPlaceOps scarp_place_in_plane, scarp_place_copyback,
    scarp_place_in_channel, scarp_place_global, scarp_place_gc_z,
    scarp_place_paragc, scarp_place_in_group;
extern const ScarpAheadOps scarp_ahead_none, scarp_ahead_background,
    scarp_ahead_pregc;
extern const ScarpRedundancyOps scarp_redundancy_direct,
    scarp_redundancy_reconstruct;

#endif /* SCARP_POLICIES_H */
