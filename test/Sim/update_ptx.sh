#!/bin/bash
# Makes the PTX files of test/Sim/ptx again, from the kernels of test/Sim/cuda. Needs nvcc, which says which one it is.
set -e
cd "$(dirname "$0")/../.."
for file in atomics.sm_75 calls.sm_120a groups.sm_121a halves.sm_90a matrices.sm_75 memory.sm_86 objects.sm_75 output.sm_75 reduce.sm_89 sort.sm_75 \
  warps.sm_80 warps.sm_100a; do
  source="test/Sim/cuda/${file%%.*}.cu" command="nvcc -O3 -arch=${file##*.} -w -ptx"
  out="test/Sim/ptx/$file.ptx"
  $command "$source" -o "$out.new"
  {
    echo "// Made of $source by \`$command\`; empty lines and comments are taken out."
    nvcc --version | sed -n 's/^Cuda compilation tools, /\/\/ CUDA /p'
    # Nothing but white space and comments goes: the instructions are nvcc's.
    sed -E 's/[[:space:]]*(\/\/.*)?$//; /^$/d' "$out.new"
  } >"$out"
  rm "$out.new"
done
