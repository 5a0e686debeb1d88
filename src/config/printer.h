/* SPDX-License-Identifier: MIT
 *
 * config/printer.h - print a message in protobuf's text format
 */
#ifndef CONFIG_PRINTER_H
#define CONFIG_PRINTER_H

#include <protobuf-c/protobuf-c.h>

#include "base/string.h"

/* Appends one line per field, in the order of field numbers; a list is one line. config_parse of
 * the text gives the same message. */
void config_format(const ProtobufCMessage *message, struct string_builder *text);

#endif
