#!/usr/bin/env bash
# Sets up, builds and runs the tests. Options go to ctest:
#   ./test.sh -L cpu        one process, no torch      ./test.sh -L multi   several processes
#   ./test.sh -L peer       against PyTorch and transformers in Python
#   ./test.sh -R partition  tests whose name matches
set -euo pipefail
cd -- "$(dirname -- "${BASH_SOURCE[0]}")"
source cmake/setup.sh

setup_system_packages
setup_torch
setup_peers tests/peers/requirements.txt
configure dev -DPPPLAN_PEERS_PYTHON="$peers_python"
compile dev
show ctest --preset dev --parallel "$(job_count)" "$@"
