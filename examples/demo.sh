#!/bin/bash
# The main job: compiles an example kernel, shows its PTX, runs it, and shows the result.
set -eu
mettle=tools/mettle/mettle
run=tools/mtlc-run/mtlc-run
source=examples/saxpy.mettle

echo "== $source =="
cat "$source"
echo
echo "== PTX for sm_121a (mettle -O --emit-ptx) =="
"$mettle" -O --emit-ptx --gpu-arch=sm_121a "$source" -o -
echo
echo "== y = 2.5 * x + y for x = y = 0, 1, 2, … (mtlc-run) =="
"$run" "$source" --kernel=saxpy --grid=2 --block=8 --arg=buf:f32:12:iota --arg=buf:f32:12:iota --arg=f32:2.5 \
  --arg=i32:12 --print=1
