/* SPDX-License-Identifier: MIT
 *
 * abi/level_zero_options.h - options and trouble counters, shared by the level_zero collector and
 * its guest
 */
#pragma once

/* Bits from RING_OPTION_GUEST on (ring/ring.h). */
enum level_zero_option {
	LEVEL_ZERO_OPTION_TIME = 0x100 /* adds timestamps to commands */
};

/* Counters of the guest, from RING_TROUBLE_GUEST on. */
enum level_zero_trouble {
	LEVEL_ZERO_TROUBLE_VERSION = 16 /* function tables of the loader with an unknown layout */
};
