#!/usr/bin/env bash
# Runs the Triton that install.sh made.
#
#   serve.sh TARGET MODEL_REPOSITORY [tritonserver options…]
#
# MODEL_CONFIG (cpu, or gpu for an installation that was made for one): the configuration that models are read with.
# ADDRESS (127.0.0.1), HTTP_PORT (8000), GRPC_PORT (8001), METRICS_PORT (8002), EXIT_TIMEOUT (30, in seconds).
# The script becomes tritonserver, so its process id is the server's. SIGTERM finishes the requests in flight and exits
# with 0, or with 1 if EXIT_TIMEOUT passes first: keep it longer than the slowest inference.
# end-stubs.sh ends the stubs of a server that was killed.
set -euo pipefail

usage='usage: serve.sh TARGET MODEL_REPOSITORY [tritonserver options…]'
server=$(cd "${1:?$usage}" && pwd)/pytriton/tritonserver
repository=${2:?$usage}
shift 2
address=${ADDRESS:-127.0.0.1}
config=${MODEL_CONFIG:-cpu}
gpu_metrics=true
if [[ $config != gpu ]]; then
  gpu_metrics=false
  # Otherwise a model without a configuration of this name would be started on a GPU that happens to be there.
  export CUDA_VISIBLE_DEVICES=
fi

# Shared memory is named after this process: two servers that start at once would otherwise take each other's.
# OPENVINO_PACKAGES: where model files that OpenVINO runs find it (docs/models.md).
export OPENVINO_PACKAGES=$server/backends/python

# Local mode and terminals start this script as the leader of a process group, which the stubs join. Elsewhere the group
# has other members that must not be killed.
read -r stat <"/proc/$$/stat"
read -ra fields <<<"${stat##*) }"
if [[ ${fields[2]} == "$$" ]]; then
  setsid --fork "$(dirname "${BASH_SOURCE[0]}")/end-stubs.sh" "$$" </dev/null &>/dev/null
fi

# Completing configurations would start Python once more for each model, 1.5 s of start; those in models/ are complete.
exec "$server/bin/tritonserver" \
  --model-repository "$repository" \
  --model-config-name "$config" \
  --backend-directory "$server/backends" \
  --backend-config "python,shm-region-prefix-name=matte_$$_" \
  --http-address "$address" --http-port "${HTTP_PORT:-8000}" \
  --grpc-address "$address" --grpc-port "${GRPC_PORT:-8001}" \
  --metrics-address "$address" --metrics-port "${METRICS_PORT:-8002}" \
  --disable-auto-complete-config \
  --allow-gpu-metrics "$gpu_metrics" \
  --exit-timeout-secs "${EXIT_TIMEOUT:-30}" \
  "$@"
