# One image, four commands: api, controller, dispatcher, admin. Builds with docker, buildah and podman, for every
# platform that Node and sharp have: `docker build -t matte .`. Runs as any user id, on a read-only root file system.
ARG NODE_DIGEST=sha256:6f7b03f7c2c8e2e784dcf9295400527b9b1270fd37b7e9a7285cf83b6951452d
ARG NODE_IMAGE=docker.io/library/node:24-bookworm-slim@${NODE_DIGEST}
ARG DEBIAN_IMAGE=docker.io/library/debian:bookworm-slim

FROM ${NODE_IMAGE} AS build
WORKDIR /src
COPY package.json package-lock.json .npmrc ./
COPY api/package.json api/
COPY api/core/package.json api/core/
COPY controller/package.json controller/
COPY dispatcher/package.json dispatcher/
COPY protos/package.json protos/
COPY docs/generate/package.json docs/generate/
COPY test/package.json test/
COPY local/package.json local/
# Not `npm ci`, see the Makefile. The pinned Node of development is left out: the image has its own.
RUN npm install --no-save --ignore-scripts --no-audit --no-fund --loglevel=error --cache /tmp/npm && rm -rf /tmp/npm
COPY rolldown.config.ts tsconfig.json ./
COPY protos protos
COPY api api
COPY controller controller
COPY dispatcher dispatcher
COPY test/fixtures/photos/rocket.jpg test/fixtures/photos/
RUN BUNDLE_DIR=/app node node_modules/rolldown/bin/cli.mjs -c rolldown.config.ts \
 && npm sbom --omit=dev --sbom-format=cyclonedx >/app/sbom.json

FROM ${DEBIAN_IMAGE}
RUN apt-get update -qq \
 && apt-get install -qqy --no-install-recommends ca-certificates libjemalloc2 tini >/dev/null \
 && rm -rf /var/lib/apt/lists/* /var/cache/apt /var/log/* \
 && ln -s "$(find /usr/lib -name libjemalloc.so.2)" /usr/local/lib/libjemalloc.so.2
COPY --from=build /usr/local/bin/node /usr/local/bin/
COPY --from=build /app /app
COPY --chmod=755 charts/image/matte charts/image/matte-admin /usr/local/bin/
WORKDIR /app
# jemalloc gives the memory of decoded images back within a second, which glibc keeps in pieces. GLIBC_TUNABLES has the
# same meaning where somebody takes LD_PRELOAD away.
ENV NODE_ENV=production UV_THREADPOOL_SIZE=16 \
    LD_PRELOAD=/usr/local/lib/libjemalloc.so.2 \
    MALLOC_CONF=background_thread:true,dirty_decay_ms:1000,muzzy_decay_ms:0 \
    GLIBC_TUNABLES=glibc.malloc.mmap_threshold=4194304:glibc.malloc.trim_threshold=8388608
USER 10001:10001
EXPOSE 8080 8081 8082 8083
ENTRYPOINT ["tini", "--", "matte"]
CMD ["api"]
