/* SPDX-License-Identifier: MIT
 *
 * cli/doctor_intel.c - whether instructions of Intel's GPUs can be shown here
 *
 * Runs in:  our own process
 * Gets:     the libraries of this machine   Gives: a check
 * Owns:     nothing
 * Fails:    never; what is missing is its result
 * Why the newest generation first: a library that knows one knows those before it, and which release has it is what a user
 *           has to be told
 */
#include <stdio.h>

#include "base/array.h"
#include "base/error.h"
#include "cli/doctor.h"
#include "isa/isa.h"

#define IGA_FIX "apt-get install libigc1"

void doctor_check_iga(struct doctor_collector *collector)
{
	static const char *const generations[] = {"xe3", "xe2", "xe-hpc", "gen9"};
	char why[1024] = "";
	struct isa *isa;

	for (size_t i = 0; i < ARRAY_COUNT(generations); i++) {
		if (isa_new(ISA_XE, generations[i], &isa)) {
			error_clear();
			return;
		}
		if (isa_library(isa)) {
			doctor_add(collector, "disassembler", true, false, NULL, "%s, up to %s%s",
				   isa_library(isa), generations[i],
				   i ? ": newer code is shown without operands; libigc2 of newer "
				       "Debians knows it"
				     : "");
			isa_free(isa);
			return;
		}
		snprintf(why, sizeof(why), "%s", isa_why(isa));
		isa_free(isa);
	}
	doctor_add(collector, "disassembler", false, false, IGA_FIX, "%s", why);
}
