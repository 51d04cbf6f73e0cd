#!/bin/bash
# A stand-in for a tool: prints its arguments.
printf '%s\n' "$*"
