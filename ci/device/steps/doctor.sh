#!/usr/bin/env bash
# What the recorder finds on this machine.
exec "$STALLHOUND" doctor
