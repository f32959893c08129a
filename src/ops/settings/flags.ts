// The table of all flags: meaning, commands that take it, how its value is read, default. Parsing, the environment,
// the help texts and the table in docs/settings.md are based on it.

import { isIP } from 'node:net'
import { err, ok } from '../../kit/result.js'
import type { CommandName } from './commands.js'
import { type Flag, many, one, oneOr, onOff } from './flag.js'
import { LOG_FLAGS } from './log-flags.js'
import {
  readAllowedAddress,
  readBindHost,
  readDomain,
  readDuration,
  readEnvoyAddress,
  readInteger,
  readNamespacedName,
  readOneOf,
  readServerAddress,
  readSize,
  readTcpAddress,
  readText,
  type ReadValue,
  readWorkers,
} from './values.js'

// Flags of `gatehouse explain`: the request to explain, the keys to verify with, the form of the output. `check` has --fetch too.

const readIp: ReadValue<string> = (text) =>
  isIP(text) === 0 ? err('an IP address, e.g. 192.0.2.1') : ok(text)

/** Flags by the name of their property in Settings, as in FLAGS. */
const EXPLAIN_FLAGS = {
  request: one(readText, {
    value: 'REQUEST',
    commands: ['explain'],
    meaning: 'the request to explain: METHOD URL, e.g. "POST https://mcp.example.com/mcp"',
  }),
  header: many(readText, {
    value: 'HEADER',
    commands: ['explain'],
    meaning: 'a header of the request: "Name: value"; repeatable',
  }),
  token: one(readText, {
    value: 'FILE|-',
    commands: ['explain'],
    meaning: 'the file with the bearer token of the request; -: standard input',
  }),
  body: one(readText, {
    value: 'FILE|-',
    commands: ['explain'],
    meaning: 'the file with the body of the request, which rules on MCP messages read',
  }),
  source: one(readIp, {
    value: 'IP',
    commands: ['explain'],
    meaning: 'the address that the request comes from; default 127.0.0.1',
  }),
  listenerPort: one(readInteger(1, 65_535), {
    value: 'N',
    commands: ['explain'],
    meaning: 'the port of the listener that the request reaches; default that of the URL',
  }),
  jwks: many(readText, {
    value: '[URL=]FILE',
    commands: ['explain'],
    meaning:
      'with --resources: the key set of the provider at this URL, or of every provider without a file of its own; repeatable',
  }),
  fetch: onOff({
    commands: ['check', 'explain'],
    meaning:
      'ask the identity providers: for key sets and discovery documents (explain: with --resources, for the key sets that the decision needs)',
  }),
  format: oneOr(readOneOf('text', 'json'), 'text', {
    value: 'text|json',
    commands: ['explain'],
    meaning: 'the form of the explanation',
  }),
}

// Flags for use beside the control plane of a mesh.

/** Flags by the name of their property in Settings, as in FLAGS. */
const MESH_FLAGS = {
  for: one(readOneOf('envoy-gateway', 'istio', 'envoy'), {
    value: 'MESH',
    commands: ['serve', 'translate'],
    meaning:
      "whose Gateways and HTTPRoutes the policies protect: those of envoy-gateway or istio; default Gatehouse's own; translate: envoy prints the parts that an Envoy which you configure needs",
  }),
  routeKey: one(readOneOf('envoy-gateway', 'istio'), {
    value: 'MESH',
    commands: ['serve'],
    meaning:
      'ext_proc streams without x-gatehouse-route are for the route that the attribute xds.route_name names, as this mesh makes its names',
  }),
  sealed: onOff({
    commands: ['translate'],
    meaning:
      "with --for envoy-gateway or istio: HTTPRoutes are printed too, and lead nowhere without Gatehouse's mark, the secret of the Secret gatehouse-seal in their namespace, which is made where it is missing",
  }),
  connectTls: one(readDomain, {
    value: 'NAME',
    commands: ['serve', 'translate'],
    meaning:
      "with --for envoy-gateway: Envoys connect by TLS, to a certificate of this name whose authority is ca.crt of the ConfigMap gatehouse-ca in the routes' namespace; with --provision: created Envoys do, and --connect-ca has the authority",
  }),
  customProvider: one(readText, {
    value: 'NAME',
    commands: ['serve', 'translate'],
    meaning:
      'with --for istio: an AuthorizationPolicy with action CUSTOM and this extension provider of the mesh asks Gatehouse, in front of CORS; default a filter of its own, behind CORS',
  }),
  closed: one(readTcpAddress, {
    value: 'HOST:PORT',
    commands: ['serve', 'translate'],
    meaning:
      'the address that answers 503 to everything, for closed routes of a mesh; translate: default port 9 of 127.0.0.1, where nothing listens',
  }),
}

// Flags for the Envoys that Gatehouse creates in a cluster.

/** Flags by the name of their property in Settings, as in FLAGS. */
const PROVISION_FLAGS = {
  provision: onOff({
    commands: ['serve'],
    meaning:
      'with --kubernetes: create Envoys for each Gateway that has none, which reach Gatehouse at --connect, and remove them with it',
  }),
  connectCa: one(readText, {
    value: 'FILE',
    commands: ['serve'],
    meaning:
      'with --provision and --connect-tls: the authorities (PEM) by which created Envoys check the certificate of the gRPC address, read again when the file changes; Gatehouse knows the Envoys by tokens of their service accounts',
  }),
}

const SERVERS = ['run', 'serve', 'demo'] as const
const TRANSLATORS = ['run', 'serve', 'demo', 'check', 'translate'] as const

/** Flags by the name of their property in Settings; the flag itself is that name with dashes (flagName). */
export const FLAGS = {
  resources: many(readText, {
    value: 'PATH',
    commands: ['run', 'serve', 'explain'],
    meaning: 'a file or folder of YAML/JSON documents, watched (explain: read once); repeatable',
  }),
  grpc: oneOr(readServerAddress, '127.0.0.1:18000', {
    value: 'ADDRESS',
    commands: ['run', 'serve', 'translate', 'bootstrap'],
    meaning:
      'where ADS, ext_authz, ext_proc and grpc.health.v1 listen: HOST:PORT or unix:PATH (run: only if it is given, as its own Envoy comes over a private Unix socket)',
  }),
  ...MESH_FLAGS,
  ...EXPLAIN_FLAGS,
  kubernetes: onOff({
    commands: ['serve'],
    meaning:
      'read resources from the Kubernetes API server that KUBECONFIG or the service account of the pod names, and write their status',
  }),
  namespace: many(readDomain, {
    value: 'NS',
    commands: ['serve'],
    meaning: 'with --kubernetes: only this namespace; repeatable; default all',
  }),
  allowAddress: many(readAllowedAddress, {
    value: 'IP[/BITS][:PORT]',
    commands: ['run', 'serve'],
    meaning:
      'an address that backends may have although it leads to this host, to Gatehouse itself or to cloud metadata; repeatable',
  }),
  allowClientMetadataAddress: many(readAllowedAddress, {
    value: 'IP[/BITS][:PORT]',
    commands: ['run', 'serve'],
    meaning:
      'an address outside the public internet at which hosts of relay.clientMetadataHosts may be (--allow-address does not apply to them); repeatable',
  }),
  ...PROVISION_FLAGS,
  sharedEnvoys: onOff({
    commands: ['serve'],
    meaning:
      'one Envoy serves several Gateways (its bootstrap names none): of two with one port the younger is in conflict; default true for files, false with --kubernetes',
  }),
  statusLease: one(readNamespacedName, {
    value: 'NS/NAME',
    commands: ['serve'],
    meaning:
      'a Lease that several releases share, so that one replica of all of them writes status; with --kubernetes, where their namespaces overlap; default the own one of each',
  }),
  admin: oneOr(readServerAddress, '127.0.0.1:18001', {
    value: 'ADDRESS',
    commands: [...SERVERS, 'explain'],
    meaning:
      'where /healthz, /readyz and /metrics listen and, without --status, the status page, /status, /config_dump and /explain (explain: the address with /explain of a running Gatehouse, where --resources is not given)',
  }),
  status: one(readServerAddress, {
    value: 'ADDRESS',
    commands: ['run', 'serve'],
    meaning:
      'where the status page, /status, /config_dump and /explain listen; default the address of --admin; with --kubernetes 127.0.0.1:18002, and only with --admin-token-file',
  }),
  adminTokenFile: one(readText, {
    value: 'FILE',
    commands: ['run', 'serve', 'explain'],
    meaning:
      'the file with the token that these four require, as a bearer token or a basic password; created at the start if it is missing',
  }),
  envoy: one(readText, {
    value: 'PATH',
    commands: ['run', 'demo'],
    meaning:
      'the Envoy binary; default ENVOY_PATH, then PATH, then the one that Gatehouse installs',
  }),
  envoyAdmin: oneOr(readEnvoyAddress, '127.0.0.1:19000', {
    value: 'ADDRESS',
    commands: ['run', 'demo', 'translate', 'bootstrap'],
    meaning:
      "Envoy's own admin address: IP:PORT or unix:PATH (run, demo: a Unix socket in a private folder, if it is not given)",
  }),
  apiGroup: oneOr(readDomain, 'policy.gatehouse.dev', {
    value: 'G',
    commands: [...TRANSLATORS, 'crds', 'schema', 'explain'],
    meaning: 'the API group of ProxyPolicy, ProxyBackend and ProxyParameters',
  }),
  listenAddress: oneOr(readBindHost, '0.0.0.0', {
    value: 'HOST',
    commands: ['run', 'serve', 'translate', 'demo'],
    meaning: "the IP address that Envoy's listeners bind (demo: 127.0.0.1)",
  }),
  grpcTlsCert: one(readText, {
    value: 'FILE',
    commands: ['run', 'serve'],
    meaning: "the gRPC address's certificate chain (PEM), read again when the file changes",
  }),
  grpcTlsKey: one(readText, {
    value: 'FILE',
    commands: ['run', 'serve'],
    meaning: "that certificate's private key (PEM)",
  }),
  grpcClientCa: one(readText, {
    value: 'FILE',
    commands: ['run', 'serve'],
    meaning: 'mutual TLS: the authorities (PEM) that clients of the gRPC address must be signed by',
  }),
  metadataIssuer: oneOr(readOneOf('provider', 'gateway'), 'provider', {
    value: 'provider|gateway',
    commands: TRANSLATORS,
    meaning: 'the default of mcp.metadataIssuer: whose issuer the server metadata shows',
  }),
  mcpProtocolVersion: oneOr(readText, '2025-06-18', {
    value: 'VERSION',
    commands: TRANSLATORS,
    meaning:
      'mcp_protocol_version of resource metadata, where resourceMetadata.mcpProtocolVersion says no other',
  }),
  relayKeyFile: many(readText, {
    value: 'FILE',
    commands: [...TRANSLATORS, 'explain'],
    meaning:
      'a key of 32 bytes for relayed logins and bound sessions, for policies whose keyRef names the file or that have no keyRef; repeatable, the first seals, all open; changes are in force within seconds; run and demo make one without it',
  }),
  requirePolicy: onOff({
    commands: ['run', 'serve', 'check', 'translate', 'explain'],
    meaning:
      'a route without a policy that decides who may use it (a token that is required, or rules) answers 503 instead of being open; beside Istio, so do routes that Gatehouse does not know',
  }),
  trustedHops: oneOr(readInteger(0, 20), '0', {
    value: 'N',
    commands: ['run', 'serve', 'translate', 'demo', 'explain'],
    meaning: 'how many proxies in front of Envoy are trusted with X-Forwarded-*',
  }),
  maxBodyBytes: oneOr(readSize(1024, 1 << 30, '1KiB to 1GiB'), '10MiB', {
    value: 'SIZE',
    commands: ['run', 'serve', 'translate', 'demo', 'explain'],
    meaning: 'the largest guarded body; a larger one is answered 413',
  }),
  mcpBodyBytes: oneOr(readSize(1024, 1 << 24, '1KiB to 16MiB'), '1MiB', {
    value: 'SIZE',
    commands: ['run', 'serve', 'translate', 'demo', 'explain'],
    meaning:
      'the largest body on a route whose rules read mcp; a larger one is answered 413, and each is held whole before it is checked',
  }),
  rateLimitBuckets: oneOr(readInteger(1, 1_000_000), '10000', {
    value: 'N',
    commands: ['run', 'serve', 'translate', 'demo'],
    meaning:
      'how many keys of one rate limit each Envoy counts at once; beyond it the one that was used least recently is forgotten',
  }),
  ruleSteps: oneOr(readInteger(1000, 10_000_000), '50000', {
    value: 'N',
    commands: [...SERVERS, 'explain'],
    meaning:
      'the work that all rules of one request may do together, in steps of about 100 ns; beyond it the request is refused',
  }),
  ruleBytes: oneOr(readSize(1024, 1 << 30, '1KiB to 1GiB'), '4MiB', {
    value: 'SIZE',
    commands: [...SERVERS, 'explain'],
    meaning: 'the texts, lists and maps that they may make meanwhile',
  }),
  heldBytes: one(readSize(1 << 20, 2 ** 40, '1MiB to 1024GiB'), {
    value: 'SIZE',
    commands: SERVERS,
    meaning:
      'what bodies that are guarded, or that rules read, may hold together; beyond it 503; callers without a token have a quarter of it, and a namespace beside others half; default a quarter of the memory that the process may use',
  }),
  bodyTimeout: oneOr(readDuration(1000, 3_600_000, '1s to 1h'), '60s', {
    value: 'D',
    commands: SERVERS,
    meaning:
      'how long a body that is guarded, that rules read, or of a registration or login may take to come; then it is answered 408',
  }),
  rememberedTokens: oneOr(readInteger(0, 10_000_000), '40000', {
    value: 'N',
    commands: SERVERS,
    meaning:
      'how many verified tokens are remembered for each provider, about 3 KB each, and how many more that were used once, about 100 bytes each; others are verified again',
  }),
  workers: oneOr(readWorkers, '1', {
    value: 'N|auto',
    commands: ['run', 'serve'],
    meaning:
      'how many processes check and process; 1: this one alone; auto: one less than there are processors',
  }),
  drainTimeout: oneOr(readDuration(0, 3_600_000, '0s to 1h'), '10s', {
    value: 'D',
    commands: SERVERS,
    meaning: 'how long SIGTERM waits for work under way',
  }),
  clusterDomain: oneOr(readDomain, 'cluster.local', {
    value: 'NAME',
    commands: TRANSLATORS,
    meaning: 'the DNS domain of Services that have no endpoints in the files',
  }),
  jwksMaxStale: one(readDuration(1000, 720 * 3_600_000, '1s to 720h'), {
    value: 'D',
    commands: SERVERS,
    meaning:
      'how long keys stay in use after the last successful fetch; default as long as it takes',
  }),
  gateway: one(readNamespacedName, {
    value: 'NS/NAME',
    commands: ['bootstrap', 'explain'],
    meaning:
      'the Gateway that this Envoy serves (explain: that the request reaches); default every one',
  }),
  connect: one(readServerAddress, {
    value: 'ADDRESS',
    commands: ['serve', 'translate', 'bootstrap'],
    meaning:
      'where Envoy reaches Gatehouse; default the address of --grpc (serve: with --kubernetes and either --for or --provision alone, which need it)',
  }),
  port: one(readInteger(0, 65_535), {
    value: 'N',
    commands: ['demo'],
    meaning: "the demo gateway's port; default 8080; 0: any that is free",
  }),
  strict: onOff({
    commands: ['check'],
    meaning: 'exit code 1 also for warnings and notes',
  }),
  noTour: onOff({ commands: ['demo'], meaning: 'start the stack without taking the tour' }),
  ...LOG_FLAGS,
}

/** Name of a flag's property in Settings, e.g. envoyAdmin. */
export type FlagKey = keyof typeof FLAGS

type ValueOf<F> =
  F extends Flag<infer T, infer D, infer M>
    ? M extends true
      ? readonly T[]
      : D extends string
        ? T
        : T | undefined
    : never

/** Values of all flags: durations in milliseconds, sizes in bytes. */
export type FlagValues = { readonly [K in FlagKey]: ValueOf<(typeof FLAGS)[K]> }

/** Returns the name of the flag: envoyAdmin → envoy-admin. */
export const flagName = (key: string): string =>
  key.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)

/** Returns the environment variable of the flag: envoyAdmin → GATEHOUSE_ENVOY_ADMIN. */
export const variableName = (key: string): string =>
  `GATEHOUSE_${flagName(key).replaceAll('-', '_').toUpperCase()}`

/** Returns the flags that a command takes, in the order of help. */
export const flagsOf = (command: CommandName): readonly FlagKey[] =>
  (Object.keys(FLAGS) as FlagKey[]).filter((key) => FLAGS[key].commands.includes(command))
