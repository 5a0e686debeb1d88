/* SPDX-License-Identifier: MIT
 *
 * agent/notify.h - messages to systemd, as sd_notify(3) sends them
 */
#pragma once

#include <stdint.h>

/* Sends "READY=1", "WATCHDOG=1", … to $NOTIFY_SOCKET; does nothing without that variable. */
void notify_send(const char *message);

/* Interval in which WATCHDOG=1 is expected; 0: none is. */
uint64_t notify_watchdog_ns(void);
