#!/usr/bin/env bash
exec python3 ci/checks/exports.py record/libstallhound_record.so
