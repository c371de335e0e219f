#!/usr/bin/env bash
# Fails when a tracked file tells where or how it was made: paths of one machine, hosts that packages
# came from, numbers of a tracker that a reader cannot see, merge leftovers.
#   no_traces.sh PROJECT_FOLDER
set -euo pipefail
cd -- "$1"

# This file is left out of the search.
patterns=(
  '(^|[^A-Za-z0-9_.])/(work|root)/' # absolute paths of a workplace
  '/home/[a-z][a-z0-9_-]*/[.A-Za-z]'
  '(pypi|pythonhosted|debian|ubuntu|download[.]pytorch)[.](org|com)'
  '[Ii]ssues? #[0-9]'
  '(TODO|FIXME|XXX)[(:]'
  '^(<{7}|>{7}) '
)
if git rev-parse --is-inside-work-tree >/dev/null 2>&1; then
  search=(git grep -nIE)
  only=(-- . ':!LICENSE' ':!tests/checks/no_traces.sh')
else
  search=(grep -rnIE --exclude-dir=build --exclude-dir=.git --exclude=LICENSE --exclude=no_traces.sh)
  only=(.)
fi
found=0
for pattern in "${patterns[@]}"; do
  if "${search[@]}" -e "$pattern" "${only[@]}"; then
    printf 'the lines above match %s\n' "$pattern" >&2
    found=1
  fi
done
exit "$found"
