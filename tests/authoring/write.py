#!/usr/bin/env python3
# Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
"""Writes tests/golden and tests/bugs anew from the functions in cases_*.py.   usage: write.py [NAME ...]"""

import sys

import cases_bugs_forward  # noqa: F401  fills CASES
import cases_bugs_layout  # noqa: F401
import cases_bugs_training  # noqa: F401
import cases_dense  # noqa: F401
import cases_forms  # noqa: F401
import cases_jax
import cases_parallel  # noqa: F401
import cases_rules  # noqa: F401
import cases_training  # noqa: F401

import golden

wrong = count = 0
for cases, write in ((golden.CASES, golden.write), (cases_jax.JAX_CASES, cases_jax.write)):
    for name, spec in cases.items():
        if len(sys.argv) > 1 and name not in sys.argv[1:]:
            continue
        count += 1
        try:
            write(spec)
        except Exception as error:
            wrong += 1
            print(f"{name}: {type(error).__name__}: {error}"[:400])
print(count, "cases,", wrong, "wrong")
sys.exit(1 if wrong else 0)
