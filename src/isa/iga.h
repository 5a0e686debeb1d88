/* SPDX-License-Identifier: MIT
 *
 * isa/iga.h - load Intel's disassembler for its GPUs, from any installed version
 *
 * Only isa/ includes this.
 */
#ifndef ISA_IGA_H
#define ISA_IGA_H

#include <stddef.h>
#include <stdint.h>

#define IGA_OLDEST            1 /* libiga64.so.1; versions that are tried */
#define IGA_NEWEST            9 /* 2 is the newest that was tested */
#define IGA_WHY_MAX           512
#define IGA_INSTRUCTION_BYTES 16 /* bytes read of each */

struct iga;

/* platform: an iga_gen_t; name: for messages. -ENOENT: no library supports it, and ret_why, of
 * IGA_WHY_MAX bytes, is the reason; -ENOMEM. */
int iga_open(uint32_t platform, const char *name, struct iga **ret_iga, char *ret_why);
void iga_close(struct iga *iga); /* NULL-safe */

const char *iga_name(const struct iga *iga);

/* The instruction at bytes[0], of which IGA_INSTRUCTION_BYTES are read. The text is IGA's own, in
 * columns and with comments, and valid until the next call; NULL: not an instruction. */
const char *iga_decode(struct iga *iga, const uint8_t *bytes, uint64_t address);

#endif
