/* SPDX-License-Identifier: MIT
 *
 * abi/opencl_calls_end.h - undefines the macros of opencl_calls.inc, for the next use of that table
 *
 * This file has no include guard, because it is included after each use of the table that another
 * use follows.
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
