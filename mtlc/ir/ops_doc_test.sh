#!/bin/bash
# docs/ops.md is what the operation table says.
set -u
if diff -u docs/ops.md <(mtlc/ir/ops_doc); then
  exit 0
fi
echo "docs/ops.md is stale: ./mtlcw run //mtlc/ir:ops_doc > docs/ops.md"
exit 1
