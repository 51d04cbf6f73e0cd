#!/bin/bash
# Builds the tools twice, from clones of HEAD in two different folders and without any cache, and compares them byte for
# byte. usage: tools/check_reproducible.sh [TARGETS...]   (default: //tools/...)
set -euo pipefail
root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
[ $# -gt 0 ] || set -- //tools/...
scratch="$(mktemp -d)"

bazel() { # CLONE ARGUMENTS...
  local clone="$1"
  shift
  (cd "$clone" && env -i PATH=/usr/bin:/bin HOME="$scratch" USER=builder LANG=C.UTF-8 \
    bazel-4 --nohome_rc --output_base="$clone.out" "$@")
}

finish() {
  for clone in "$scratch/first" "$scratch/second-elsewhere"; do
    [ ! -d "$clone" ] || bazel "$clone" shutdown > /dev/null 2>&1 || true
  done
  chmod -R u+w "$scratch"
  rm -rf "$scratch"
}
trap finish EXIT

for clone in "$scratch/first" "$scratch/second-elsewhere"; do
  git clone --quiet "$root" "$clone"
  bazel "$clone" build --disk_cache= --noshow_progress --color=no "$@"
  # What was linked or archived; manifests name absolute paths and are never shipped.
  (cd "$clone/bazel-bin" &&
    find -L . -type f \( -perm -u+x -o -name '*.a' \) ! -path '*.runfiles/*' ! -name '*.runfiles_manifest' ! -path './_*' -print0 |
    sort -z | xargs -0 sha256sum) > "$clone.sums"
done

count="$(wc -l < "$scratch/first.sums")"
[ "$count" -gt 0 ] || {
  echo "nothing was built" >&2
  exit 1
}
if diff "$scratch/first.sums" "$scratch/second-elsewhere.sums"; then
  echo "$count files, all identical"
else
  echo "the builds differ" >&2
  exit 1
fi
