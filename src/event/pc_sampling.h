/* SPDX-License-Identifier: MIT
 *
 * event/pc_sampling.h - what a sample of a device's instruction says beside its place
 *
 * Runs in:  guests write the numbers, the recorder makes names of them
 * Source:   perf_snapshot_data of the CDNA 3 instruction set (stalls), hsa_ven_amd_pc_sampling.h of ROCm 6.2 (units)
 *
 * A number is never given to another name. Include with the macros defined:
 *
 *	PC_UNIT(number, NAME, name)      of the period
 *	PC_STALL(number, name)           why the wave issued nothing; in the order of the hardware's numbers, which count from 0
 */
/* clang-format off */
#ifdef PC_UNIT
PC_UNIT(0, NS,           "ns")
PC_UNIT(1, CYCLES,       "cycles")
PC_UNIT(2, INSTRUCTIONS, "instructions")
PC_UNIT(3, SAMPLES,      "samples")
#endif
#ifdef PC_STALL
PC_STALL(1, "no_instruction_available")
PC_STALL(2, "alu_dependency")
PC_STALL(3, "waitcnt")
PC_STALL(4, "internal_instruction")
PC_STALL(5, "barrier_wait")
PC_STALL(6, "arbiter_not_win")
PC_STALL(7, "arbiter_win_ex_stall")
PC_STALL(8, "other_wait")
#endif
/* clang-format on */
