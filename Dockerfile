# gatehouse: the sidecar alone. parties: the same with the demo's identity provider, MCP server, LLM and webhook.

# The tags move with the security fixes of Node and Debian. For a build that can be repeated, name digests as well:
#   docker buildx imagetools inspect node:24-bookworm-slim --format '{{.Manifest.Digest}}'
#   docker build --build-arg NODE_IMAGE=node:24-bookworm-slim@sha256:... --build-arg RUNTIME_IMAGE=gcr.io/distroless/cc-debian12@sha256:...
# and do so again when a tag has moved.

# A Debian with Node and npm, which builds. If only this one is given, the sidecar is built on it too, without its npm.
ARG NODE_IMAGE
# What the sidecar is built on: what Node's binary needs (glibc, libstdc++) and the authorities. By default it has no
# shell and no package manager.
ARG RUNTIME_IMAGE

# Which of the two stages below is the base. An argument may only be read in a later one.
ARG GIVEN_RUNTIME=${RUNTIME_IMAGE:+bare}
ARG GIVEN_NODE=${NODE_IMAGE:+node}
ARG GIVEN=${GIVEN_RUNTIME:-${GIVEN_NODE}}
ARG BASE=base-${GIVEN:-bare}

FROM ${NODE_IMAGE:-node:24-bookworm-slim} AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci
COPY . .
RUN node scripts/build.mjs

FROM build AS parties
USER node
ENTRYPOINT ["node"]

# Types, source maps and documents of packages are for those who develop.
FROM build AS production
RUN npm prune --omit=dev \
  && find node_modules dist -type f \
    \( -name '*.map' -o -name '*.ts' -o -name '*.cts' -o -name '*.mts' -o -iname '*.md' \) -delete \
  && rm -rf dist/guardrail-webhook node_modules/.cache node_modules/.bin node_modules/.package-lock.json \
  && install -d -m 0700 /run/gatehouse \
  && cp "$(command -v node)" /usr/local/bin/gatehouse-node

# Also resolved where it is not used, by builders that run every stage: then it must name no image but the one given.
FROM ${RUNTIME_IMAGE:-${NODE_IMAGE:-gcr.io/distroless/cc-debian12}} AS base-bare
COPY --from=production /usr/local/bin/gatehouse-node /usr/local/bin/node

# It has a Node: a second one would be half of the image.
FROM ${NODE_IMAGE:-node:24-bookworm-slim} AS base-node
RUN rm -rf /usr/local/lib/node_modules /usr/local/include/node /opt/yarn* \
  && for name in npm npx corepack yarn yarnpkg; do rm -f "/usr/local/bin/$name"; done

FROM ${BASE} AS gatehouse
WORKDIR /app
ENV NODE_ENV=production
# Half of these threads look names up: silent name servers of some are to leave places for the rest.
ENV UV_THREADPOOL_SIZE=16
# What was held of bodies goes back to the system: by default the C library keeps it, several times what is needed at rest.
ENV MALLOC_ARENA_MAX=1 MALLOC_MMAP_THRESHOLD_=65536 MALLOC_TRIM_THRESHOLD_=65536
COPY --from=production /app/package.json ./
COPY --from=production /app/node_modules ./node_modules
COPY --from=production /app/dist ./dist
# The socket that Envoy's container shares; a named volume mounted here belongs to the same user.
COPY --from=production --chown=1000:1000 /run/gatehouse /run/gatehouse
# As a number: Kubernetes sees (runAsNonRoot) that it is not root.
USER 1000:1000
EXPOSE 18000 18001
HEALTHCHECK --interval=2s --timeout=2s --start-period=10s --retries=5 \
  CMD ["node", "-e", "fetch('http://127.0.0.1:18001/readyz').then(r => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
# The flags of the first line of main.js (decision 34).
ENTRYPOINT ["node", "--max-semi-space-size=16", "--heap-growing-percent=150", "--no-allocation-site-pretenuring", "/app/dist/main.js"]
CMD ["serve", "--resources", "/etc/gatehouse/resources"]
