/* SPDX-License-Identifier: MIT
 *
 * abi/opencl_calls_end.h - undefines the macros of opencl_calls.inc, for the next use of that table
 *
 * Without a guard: it is included behind each use that another one follows.
 */
#undef STATUS
#undef CREATE
#undef POINTER
#undef NOTHING
#undef WAIT
#undef ENQUEUE
#undef ENQUEUE_PLAIN
#undef ENQUEUE_MAP
#undef PASSED
