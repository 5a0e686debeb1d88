/* SPDX-License-Identifier: MIT
 *
 * event/pc_sampling.h - numbers and names of period units and stall reasons in instruction samples
 *
 * Runs in:  guests write the numbers, the recorder converts them to names
 * Source:   perf_snapshot_data of the CDNA 3 instruction set (stalls), hsa_ven_amd_pc_sampling.h of
 *           ROCm 6.2 (units)
 *
 * The number of a name never changes. Include with the macros defined:
 *
 *	PC_UNIT(number, NAME, name)      unit of the period
 *	PC_STALL(number, name)           why the wave issued nothing; in the order of the hardware's
 *	                                 numbers, which count from 0
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
PC_STALL(9, "sleep_wait")
#endif
/* clang-format on */
