#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Several causes in one program: pair.py NAME=MS NAME=MS, NAME being a file here."""
import importlib
import sys

import diagnosis

for argument in sys.argv[1:]:
    importlib.import_module(argument.split("=")[0])
diagnosis.run()
