#!/bin/sh
# Runs the program given with its arguments: what `bazel run` would do, as a test.
exec "$@"
