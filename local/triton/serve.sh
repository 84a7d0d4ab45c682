#!/usr/bin/env bash
# Runs the Triton that install.sh made.
#
#   serve.sh TARGET MODEL_REPOSITORY [tritonserver options…]
#
# There is no GPU behind this server, so models are read with their `cpu` configuration.
# ADDRESS (127.0.0.1), HTTP_PORT (8000), GRPC_PORT (8001), METRICS_PORT (8002), EXIT_TIMEOUT (30, in seconds).
# The script becomes tritonserver, so its process id is the server's. SIGTERM finishes the requests in flight and exits
# with 0, or with 1 if EXIT_TIMEOUT passes first: keep it longer than the slowest inference.
set -euo pipefail

usage='usage: serve.sh TARGET MODEL_REPOSITORY [tritonserver options…]'
server=$(cd "${1:?$usage}" && pwd)/pytriton/tritonserver
repository=${2:?$usage}
shift 2
address=${ADDRESS:-127.0.0.1}

# Shared memory is named after this process: two servers that start at once would otherwise take each other's.
# Completing configurations would start Python once more for each model, 1.5 s of start; those in models/ are complete.
exec "$server/bin/tritonserver" \
  --model-repository "$repository" \
  --model-config-name cpu \
  --backend-directory "$server/backends" \
  --backend-config "python,shm-region-prefix-name=matte_$$_" \
  --http-address "$address" --http-port "${HTTP_PORT:-8000}" \
  --grpc-address "$address" --grpc-port "${GRPC_PORT:-8001}" \
  --metrics-address "$address" --metrics-port "${METRICS_PORT:-8002}" \
  --disable-auto-complete-config \
  --allow-gpu-metrics false \
  --exit-timeout-secs "${EXIT_TIMEOUT:-30}" \
  "$@"
