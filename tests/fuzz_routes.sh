#!/bin/sh
# Asks a real runtime everything that its own description allows, and much that it does not: schemathesis with its
# default checks against /openapi.json over TCP. Fails on any 5xx, on any reply that the description does not have,
# on a request without a reply, and when what the runtime has written afterwards is not in order.
#
#   tests/fuzz_routes.sh PATH-OF-HOLON [OPTIONS OF schemathesis run ...]
#
# CASES (300): cases of each operation, at most; twice, once for agents of any name and once for one that is there.
# SEED: makes a run again. Needs `pip install schemathesis`.
# Left out: the shutdown, which ends the runtime, the stream of events, which has no end, and the start of a task, for
# what is made up would be executed. The second time, there is a task.
set -eu

holon=${1:?"usage: $0 PATH-OF-HOLON [OPTIONS OF schemathesis run ...]"}
shift
cases=${CASES:-300}
seed=${SEED:-$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')}
if ! command -v schemathesis > /dev/null; then
    echo "$0: there is no schemathesis: pip install schemathesis" >&2
    exit 2
fi

folder=$(mktemp -d)
run() {
    env -i PATH="$PATH" HOME="$folder" TMPDIR="$folder" HOLON_HOME="$folder/home" HOLON_MODEL=scripted/hello \
        HOLON_HTTP_ADDR=127.0.0.1:0 "$holon" "$@"
}
leave() {
    run daemon stop > /dev/null 2>&1 || true
    rm -rf "$folder"
}
trap leave EXIT
trap 'exit 130' INT TERM

cd "$folder"
address=$(run daemon start --json | sed -n 's/.*"http_addr": *"\([^"]*\)".*/\1/p')
run prompt --wait --quiet hello > /dev/null
task=$(run task run --input -- cat)
echo "$holon at $address, seed $seed"

printf '[parameters]\n"path.agent_id" = "main"\n"path.task_id" = "%s"\n' "$task" > main.toml
: > any.toml
status=0
for names in any main; do
    echo "== agents: $names"
    schemathesis --config-file "$names.toml" run "http://$address/openapi.json" \
        --exclude-path /control/runtime/shutdown --exclude-path '/agents/{agent_id}/events/stream' \
        --exclude-path '/control/agents/{agent_id}/tasks' \
        --exclude-path '/agents/{agent_id}/tasks/{task_id}/output/stream' \
        --max-examples "$cases" --seed "$seed" --request-timeout 30 --continue-on-failure "$@" || status=1
done

run daemon status > /dev/null || { echo "$0: the runtime is gone" >&2; status=1; }
if grep -n panicked home/run/daemon.log*; then status=1; fi
run daemon stop > /dev/null || status=1
run ledger verify > /dev/null || { echo "$0: the ledger is not in order" >&2; status=1; }
run ledger replay > /dev/null || { echo "$0: the ledger decides otherwise" >&2; status=1; }
exit "$status"
