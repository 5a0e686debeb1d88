/* SPDX-License-Identifier: MIT
 *
 * collect/system/sources.h - what is counted of the machine and of processes
 */
#ifndef COLLECT_SYSTEM_SOURCES_H
#define COLLECT_SYSTEM_SOURCES_H

#include "collect/source.h"

extern const struct source_list system_sources;

#endif
