#!/bin/sh
# Command by which a pod starts the fake.
exec node /app/test/e2e/fake-triton/main.ts "$@"
