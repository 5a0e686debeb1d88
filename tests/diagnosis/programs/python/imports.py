#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Long imports before the first launch, which are not the cause of the steady part."""
import asyncio
import concurrent.futures
import email.mime.multipart
import http.server
import json
import sqlite3
import time
import unittest.mock
import xml.dom.minidom

import diagnosis

MODULES = asyncio, concurrent.futures, email.mime.multipart, http.server, sqlite3, unittest.mock, xml.dom.minidom
DOCUMENT = json.dumps(list(range(2000)))


def encode_request(ns):
    end = time.thread_time_ns() + ns
    while time.thread_time_ns() < end:
        json.dumps(json.loads(DOCUMENT))


diagnosis.Plant("computing", "encode_request", act=encode_request, amount_ms=3)

if __name__ == "__main__":
    diagnosis.run()
