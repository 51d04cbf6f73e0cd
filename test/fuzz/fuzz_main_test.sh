#!/bin/bash
# The fuzzing main finds faults, saves the input at fault, and passes where there is none.
set -u
fuzz="$1"
seed="$2"
failed=0

fail() {
  echo "FAILED: $*"
  failed=1
}

"$fuzz" --runs=500 "$seed" > "$TEST_TMPDIR/log" 2>&1 || fail "a clean run: $(cat "$TEST_TMPDIR/log")"
grep -q '^fuzz: 501 inputs, 1 of them the corpus, seed 1' "$TEST_TMPDIR/log" || fail "$(cat "$TEST_TMPDIR/log")"

for fault in CRASH ABORT STACK HANG MEMORY; do
  folder="$TEST_TMPDIR/$fault"
  mkdir -p "$folder/corpus"
  printf '%s now' "$fault" > "$folder/corpus/input"
  if (ulimit -c 0; "$fuzz" --timeout=1 --artifacts="$folder" "$seed" "$folder/corpus") > "$folder/log" 2>&1; then
    fail "$fault went unnoticed"
  fi
  cmp -s "$folder/crash-corpus-1" "$folder/corpus/input" || fail "$fault: no input saved: $(cat "$folder/log")"
done

"$fuzz" --nonsense 2> /dev/null
[ $? = 2 ] || fail "a wrong option"
"$fuzz" "$TEST_TMPDIR/missing" 2> /dev/null
[ $? = 2 ] || fail "a missing corpus"
exit "$failed"
