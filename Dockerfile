# One image: api, worker, operator, dispatcher, admin, and the command line of callers. Builds with docker (with and
# without BuildKit), buildah and podman, for every platform that Node and sharp support: `docker build -t matte .`. Runs
# as any user id, with a read-only root file system. Both stages use one base by digest, so only Debian's packages can
# change between builds. For a mirror: --build-arg NODE_IMAGE=registry.example.com/node@sha256:…
ARG NODE_DIGEST=sha256:6f7b03f7c2c8e2e784dcf9295400527b9b1270fd37b7e9a7285cf83b6951452d
ARG NODE_IMAGE=docker.io/library/node:24-bookworm-slim@${NODE_DIGEST}

FROM ${NODE_IMAGE} AS build
WORKDIR /src
COPY package.json package-lock.json .npmrc ./
COPY api/package.json api/
COPY api/core/package.json api/core/
COPY api/people/package.json api/people/
COPY api/console/package.json api/console/
COPY controller/package.json controller/
COPY dispatcher/package.json dispatcher/
COPY protos/package.json protos/
COPY docs/generate/package.json docs/generate/
COPY docs/site/package.json docs/site/
COPY test/package.json test/
COPY local/package.json local/
COPY clients/typescript/package.json clients/typescript/
COPY clients/cli/package.json clients/cli/
COPY clients/conformance/package.json clients/conformance/
# Uses `npm install` and not `npm ci`; see the Makefile. Omits the pinned Node of development: the image has its own.
RUN npm install --no-save --ignore-scripts --no-audit --no-fund --loglevel=error --cache /tmp/npm \
 || { echo 'npm could not fetch the packages, for the reason above. Check the network of the build;' \
        'give --build-arg HTTPS_PROXY=… for a proxy, or a line registry=… in .npmrc for a mirror.' >&2; exit 1; } \
 && rm -rf /tmp/npm
COPY rolldown.config.ts tsconfig.json ./
COPY charts/image/npm-licences.json charts/image/
COPY protos protos
COPY api api
COPY controller controller
COPY dispatcher dispatcher
COPY clients/typescript clients/typescript
COPY clients/cli clients/cli
COPY test/fixtures/photos/rocket.jpg test/fixtures/photos/
RUN node api/console/build.ts
# The documentation: its own texts, and the definitions of the API.
COPY README.md ARCHITECTURE.md CHANGELOG.md CONTRIBUTING.md DECISIONS.md ./
COPY docs docs
COPY charts/matte/README.md charts/matte/
COPY charts/matte/runbooks charts/matte/runbooks
COPY clients/README.md clients/
COPY clients/python/README.md clients/python/
COPY local/README.md local/
COPY models/u2netp/README.md models/u2netp/
RUN node docs/site/build.ts --out /app/docs/site/dist
RUN BUNDLE_DIR=/app node node_modules/rolldown/bin/cli.mjs -c rolldown.config.ts
# npm reports success even if it could not fetch an optional package, such as a binary for this platform.
RUN cd /app && node -e "require('sharp'), require('@node-rs/argon2')" \
 || { echo 'npm left out a binary of sharp or @node-rs/argon2 for this platform.' \
        'Check that the registry has it, and build again with --no-cache.' >&2; exit 1; }

# Debian, Node and Matte's programs.
FROM ${NODE_IMAGE} AS parts
RUN { apt-get update -qq \
   && apt-get install -qqy --no-install-recommends ca-certificates libjemalloc2 tini >/dev/null; } \
 || { echo 'apt-get could not install ca-certificates, libjemalloc2 and tini, for the reason above.' \
        'Check the network of the build; give --build-arg http_proxy=… for a proxy.' >&2; exit 1; } \
 && rm -rf /var/lib/apt/lists/* /var/cache/apt /var/log/* /usr/local/lib/node_modules /usr/local/include /opt/yarn* \
      /usr/local/bin/npm /usr/local/bin/npx /usr/local/bin/corepack /usr/local/bin/yarn* /usr/local/share/doc \
 && ln -s "$(find /usr/lib -name libjemalloc.so.2)" /usr/local/lib/libjemalloc.so.2
COPY --from=build /app /app
COPY charts/image/matte charts/image/matte-admin charts/image/matte-cli /usr/local/bin/
COPY charts/image/write-sbom.ts charts/image/debian-licences.json /tmp/sbom/
RUN node /tmp/sbom/write-sbom.ts && rm -rf /tmp/sbom /app/packages.json

# Copies into one layer, so removed files use no space.
FROM scratch
COPY --from=parts / /
WORKDIR /app
# jemalloc returns the memory of decoded images within a second, while glibc fragments it. GLIBC_TUNABLES does the same
# if LD_PRELOAD is removed.
ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    NODE_ENV=production UV_THREADPOOL_SIZE=16 CONSOLE_DIR=/app/console \
    LD_PRELOAD=/usr/local/lib/libjemalloc.so.2 \
    MALLOC_CONF=background_thread:true,dirty_decay_ms:1000,muzzy_decay_ms:0 \
    GLIBC_TUNABLES=glibc.malloc.mmap_threshold=4194304:glibc.malloc.trim_threshold=8388608
USER 10001:10001
EXPOSE 8080 8081 8082 8083 8084
ENTRYPOINT ["tini", "--", "matte"]
CMD ["api"]
