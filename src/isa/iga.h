/* SPDX-License-Identifier: MIT
 *
 * isa/iga.h - Intel's disassembler for its GPUs, from whichever library is on this machine
 *
 * Only isa/ includes this.
 */
#ifndef ISA_IGA_H
#define ISA_IGA_H

#include <stddef.h>
#include <stdint.h>

#define IGA_OLDEST            1 /* libiga64.so.1; numbers that are looked for */
#define IGA_NEWEST            9 /* 2 is the newest that was tried */
#define IGA_WHY_MAX           512
#define IGA_INSTRUCTION_BYTES 16 /* that may be read of each */

struct iga;

/* platform: as iga_gen_t counts; name: for messages. -ENOENT: no library can, and ret_why, of IGA_WHY_MAX bytes, says why;
 * -ENOMEM. */
int iga_open(uint32_t platform, const char *name, struct iga **ret_iga, char *ret_why);
void iga_close(struct iga *iga); /* NULL-safe */

const char *iga_name(const struct iga *iga);

/* The instruction at bytes[0], of which IGA_INSTRUCTION_BYTES are read. The text is IGA's own, in columns and with comments, and
 * stays until the next call; NULL: it is none. */
const char *iga_decode(struct iga *iga, const uint8_t *bytes, uint64_t address);

#endif
