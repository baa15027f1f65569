#!/usr/bin/env bash
exec python3 ci/checks/snippets.py . --bin cli
