#!/usr/bin/env bash
# Each argument is the answer to a query for forbidden dependencies: it must be empty.
status=0
for answer in "$@"; do
  if [ -s "$answer" ]; then
    echo "not allowed: $(basename "$answer" | tr _ ' '):"
    sed 's/^/    /' "$answer"
    status=1
  fi
done
[ $status -eq 0 ] && echo "PASS: script test"
exit $status
