#!/usr/bin/env bash
# Makes the tables and plots of docs/explanation/where-async-helps.md: bash docs/figures/make.sh
# HEADWAY names another command line than the one on the path.  Needs the extra "plot".
# Four to five minutes of one core.  The simulated driver makes every figure repeatable.
# lag_budget.py beside it makes the table of docs/explanation/choosing-a-lag-budget.md, groups.py
# the table and the plot of docs/explanation/groups.md.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")"
read -ra headway <<<"${HEADWAY:-headway}"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

compare() { # compare NAME OPTION...: the table, and both plots
    local name=$1
    shift
    "${headway[@]}" compare inflect --driver simulated --seeds 0-9 --target 0.8 \
        "$@" --out "$scratch/$name" >/dev/null
    cp "$scratch/$name/table.md" "$name.md"
    cp "$scratch/$name/plot.png" "$name.png"
    cp "$scratch/$name/plot.svg" "$name.svg"
}

spread=(--set latency=lognormal:1,1 --workers 8,32 --against best-of-n)
compare equal-seconds "${spread[@]}" --equal seconds --max-seconds 400
compare equal-rollouts "${spread[@]}" --equal rollouts --max-rollouts 400
compare no-spread --set latency=constant:1 --workers 8,32 --equal rollouts --max-rollouts 400
compare chains --set latency=lognormal:1,1 --workers 8 --modes async --against chains \
    --equal rollouts --max-rollouts 400
rm no-spread.png no-spread.svg chains.png chains.svg # their tables are enough
