/* SPDX-License-Identifier: MIT
 *
 * event/guest_sections.h - the kinds of work that a guest does for itself inside the program, one
 * row each
 *
 * Runs in:  the guest writes the number of a section when it ends, the recorder converts it to the
 *           name
 *
 * The number is the function id of a record of type API_TYPE_DUET. It must differ from all numbers
 * in abi/opencl_calls.table and the other tables of functions. Include with these macros defined:
 * GUEST_SECTION(number, name, text).
 */
/* clang-format off */
GUEST_SECTION(1120, ATTACH, "[duet: attach]")     /* find the recorder, wait for its answer, map its rings */
GUEST_SECTION(1121, OBJECT, "[duet: object]")     /* ask the runtime about a device, queue or kernel; describe it */
GUEST_SECTION(1122, CODE, "[duet: code]")         /* keep a program's source, build log or binary */
GUEST_SECTION(1123, HARVEST, "[duet: harvest]")   /* collect the device times of commands that are over */
GUEST_SECTION(1124, STACK, "[duet: stack]")       /* describe a call stack that is new */
/* clang-format on */
#undef GUEST_SECTION
