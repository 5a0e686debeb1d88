/* SPDX-License-Identifier: MIT
 *
 * config/printer.h - a message as protobuf's text format
 */
#ifndef CONFIG_PRINTER_H
#define CONFIG_PRINTER_H

#include <protobuf-c/protobuf-c.h>

#include "base/string.h"

/* A field a line, in the order of their numbers; a list stands in one line. What config_parse makes of it is the same
 * message. */
void config_format(const ProtobufCMessage *message, struct string_builder *text);

#endif
