# gatehouse: the sidecar alone. parties: the same with the demo's identity provider, MCP server, LLM and webhook.

# The tags move with the security fixes of Node and Debian. For a build that can be repeated, name digests as well:
#   docker buildx imagetools inspect node:24-bookworm-slim --format '{{.Manifest.Digest}}'
#   docker build --build-arg NODE_IMAGE=node:24-bookworm-slim@sha256:...
# and do so again when a tag has moved.
ARG NODE_IMAGE=node:24-bookworm-slim
# What Node's binary needs (glibc, libstdc++) and the authorities, without a shell or a package manager.
ARG RUNTIME_IMAGE=gcr.io/distroless/cc-debian12

FROM ${NODE_IMAGE} AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci
COPY . .
RUN npm run build

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

FROM ${RUNTIME_IMAGE} AS gatehouse
WORKDIR /app
ENV NODE_ENV=production
# Half of these threads look names up: silent name servers of some are to leave places for the rest.
ENV UV_THREADPOOL_SIZE=16
# What was held of bodies goes back to the system: by default the C library keeps it, several times what is needed at rest.
ENV MALLOC_ARENA_MAX=1 MALLOC_MMAP_THRESHOLD_=65536 MALLOC_TRIM_THRESHOLD_=65536
COPY --from=production /usr/local/bin/gatehouse-node /usr/local/bin/node
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
# The young generation that Node 22 has: Node 24 lets it grow to four times as much (decision 34).
ENTRYPOINT ["node", "--max-semi-space-size=16", "/app/dist/main.js"]
CMD ["serve", "--resources", "/etc/gatehouse/resources"]
