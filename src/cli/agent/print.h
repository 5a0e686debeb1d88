/* SPDX-License-Identifier: MIT
 *
 * cli/agent/print.h - print the status of an agent
 */
#pragma once

#include <stdbool.h>

#include "agent/status.h"

void agent_print_text(const struct agent_status *status, bool is_running);
/* One document (docs/agent.schema.json). Errors: -errno. */
int agent_print_json(const struct agent_status *status, bool is_running);
