// Exports the manifests that make Envoy Gateway's Envoys ask Gatehouse about the protected HTTPRoutes. If one of the
// routes cannot be protected, the result is only the problems: some of the manifests would leave other routes open.

import { isIP } from 'node:net'
import { compareText } from '../../../../kit/incremental/sorted-list.js'
import { err, ok, type Result } from '../../../../kit/result.js'
import { isListenerSet, type MeshRoute } from '../../../../model/mesh-route.js'
import type { GatewayName } from '../../../../model/status.js'
import {
  DOCUMENTS_RULES,
  documentsHttpRoute,
  durationText,
  policyName,
  targetRef,
} from '../gateway-api.js'
import {
  type ExportAddress,
  type ExportProblem,
  type ExportTargets,
  type Manifest,
  metadataOf,
} from '../manifest.js'
import { isSealable, sealedRoute, sealSecrets, sealsOf } from '../sealed-routes.js'
import { extensionPolicy, extProcPolicy } from './extension-policy.js'
import {
  AUTHORITY,
  type BackendRefs,
  backendRefs,
  CLOSED_BACKEND,
  GATEHOUSE_BACKEND,
  GROUP,
  manifestOf,
  pagesPolicyName,
} from './names.js'
import { corsSpec, securityPolicy } from './security-policy.js'

/** Returns the manifests sorted by namespace, name and kind. */
export function exportEnvoyGateway(
  routes: readonly MeshRoute[],
  targets: ExportTargets,
): Result<readonly Manifest[], readonly ExportProblem[]> {
  const sealable = routes.filter(isSealable)
  const seals = targets.newSeal === undefined ? undefined : sealsOf(sealable, targets.newSeal)
  const refs = backendRefs(targets)
  const manifests = [
    ...backends(routes, targets),
    ...servicePolicies(routes, targets),
    ...(seals === undefined ? [] : sealSecrets(sealable, seals)),
    ...gatewaysOf(routes).map(clientTrafficPolicy),
    ...routes.flatMap((route) => [
      ...(seals === undefined || !isSealable(route)
        ? []
        : [sealedRoute(route, seals.get(route.namespace) ?? '', refs.closed)]),
      ...securityPolicy(route, refs, seals !== undefined),
      ...extensionPolicy(route, refs),
      ...trafficPolicy(route),
      ...documentsManifests(route, refs),
    ]),
  ]
  const problems = [
    ...routes.flatMap((route) => problemsOf(route, seals !== undefined && isSealable(route))),
    ...sameNames(manifests),
  ]
  return problems.length > 0 ? err(problems) : ok([...manifests].sort(byName))
}

function problemsOf(route: MeshRoute, isSealed: boolean): readonly ExportProblem[] {
  const { namespace, name, source, problems, gateways, parents, authz, sealing } = route
  // A ListenerSet that Gatehouse does not know may lead to the route: it can still be closed.
  const isLost = gateways.length === 0 && problems.length === 0 && !parents.some(isListenerSet)
  const all = [
    ...problems,
    ...(isSealed ? sealing.problems.map((problem) => `it cannot be sealed: ${problem}`) : []),
    ...(isLost ? ['no Gateway takes it'] : []),
    ...(authz?.bodyBytes === undefined ? [] : [NO_BODIES]),
  ]
  return [...new Set(all)].map((problem) => ({
    source,
    message: `HTTPRoute ${namespace}/${name}: ${problem}`,
  }))
}

/**
 * The MCP server would read other text than was checked: with a lenient decoder, an invalid UTF-8 byte also swallows
 * the quote after it.
 */
const NO_BODIES =
  'rules read mcp, and Envoy Gateway hands bodies to ext_authz as text, in which bytes that are not UTF-8 are replaced: such a body cannot be checked'

const gatewaysOf = (routes: readonly MeshRoute[]): readonly MeshRoute['gateways'][number][] => [
  ...new Map(
    routes.flatMap(({ gateways }) =>
      gateways.map((gateway) => [`${gateway.namespace}/${gateway.name}`, gateway] as const),
    ),
  ).values(),
]

/** Finds routes whose objects would have the same name: one of the routes would be left open. */
function sameNames(manifests: readonly Manifest[]): readonly ExportProblem[] {
  const keys = manifests.map(manifestKey)
  return [...new Set(keys.filter((key, index) => keys.indexOf(key) !== index))].map((key) => ({
    message: `two HTTPRoutes would be protected by ${key}: rename one of them`,
  }))
}

const manifestKey = ({ kind, metadata }: Manifest): string =>
  `${kind} ${metadata.namespace}/${metadata.name}`

const byName = (a: Manifest, b: Manifest): number =>
  compareText(a.metadata.namespace, b.metadata.namespace) ||
  compareText(a.metadata.name, b.metadata.name) ||
  compareText(a.kind, b.kind)

// Overrides defaults of Envoy Gateway that would end replies after 15 s or allow paths with escaped slashes.

/** Returns the BackendTrafficPolicy; none if the default limits may apply. */
function trafficPolicy(route: MeshRoute): readonly Manifest[] {
  const { namespace, name, isEndless, requestMs } = route
  if (!isEndless && requestMs === undefined) return []
  const http = {
    requestTimeout: durationText(requestMs ?? 0),
    ...(isEndless ? { streamIdleTimeout: '0s' } : {}),
  }
  return [
    manifestOf('BackendTrafficPolicy', namespace, policyName(name), {
      targetRefs: [targetRef('HTTPRoute', name)],
      timeout: { http },
    }),
  ]
}

/** Returns the ClientTrafficPolicy: a path with escaped slashes could match another route than the protected one. */
const clientTrafficPolicy = ({ namespace, name }: GatewayName): Manifest =>
  manifestOf('ClientTrafficPolicy', namespace, policyName(name), {
    targetRefs: [targetRef('Gateway', name)],
    path: { escapedSlashesAction: 'RejectRequest' },
  })

// Exports the OAuth documents of an MCP route and the pages of its relay: an HTTPRoute to the closed address, CORS for
// the documents, and ext_proc, which answers.

/** Returns no manifests for a route without documents. */
function documentsManifests(route: MeshRoute, refs: BackendRefs): readonly Manifest[] {
  const { namespace, documents } = route
  if (documents === undefined) return []
  const name = documents.route
  return [
    documentsHttpRoute(route, documents, refs.closed, DOCUMENTS_RULES),
    manifestOf('SecurityPolicy', namespace, name, {
      targetRefs: [targetRef('HTTPRoute', name, DOCUMENTS_RULES.documents)],
      cors: corsSpec(documents.cors),
    }),
    ...(documents.pages.length === 0 ? [] : [pagesPolicy(route, name)]),
    extProcPolicy({ namespace, name }, name, 'documents', refs),
  ]
}

/** Has no settings: it replaces the SecurityPolicy of the Gateway, whose CORS would let other origins read the pages. */
const pagesPolicy = ({ namespace, name }: MeshRoute, on: string): Manifest =>
  manifestOf('SecurityPolicy', namespace, pagesPolicyName(name), {
    targetRefs: [targetRef('HTTPRoute', on, DOCUMENTS_RULES.pages)],
  })

// Exports the policies for the Services: a ReferenceGrant for routes of other namespaces, and a BackendTLSPolicy.

const GATEWAY_API = 'gateway.networking.k8s.io'

/** Returns no manifests for addresses that are not Services. */
function servicePolicies(
  routes: readonly MeshRoute[],
  { gatehouse, serverName, closed, newSeal }: ExportTargets,
): readonly Manifest[] {
  const all = [...new Set(routes.map(({ namespace }) => namespace))]
  return [
    ...grant(gatehouse, 'gatehouse', POLICIES, all),
    ...grant(closed, 'gatehouse-closed', ROUTES, closingNamespaces(routes, newSeal !== undefined)),
    ...(serverName === undefined || all.length === 0 ? [] : tlsPolicy(gatehouse, serverName)),
  ]
}

interface Referrer {
  readonly group: string
  readonly kind: string
}

const POLICIES: readonly Referrer[] = [
  { group: GROUP, kind: 'SecurityPolicy' },
  { group: GROUP, kind: 'EnvoyExtensionPolicy' },
]
const ROUTES: readonly Referrer[] = [{ group: GATEWAY_API, kind: 'HTTPRoute' }]

function grant(
  { service }: ExportAddress,
  name: string,
  referrers: readonly Referrer[],
  namespaces: readonly string[],
): readonly Manifest[] {
  if (service === undefined) return []
  const others = namespaces.filter((namespace) => namespace !== service.namespace)
  if (others.length === 0) return []
  return [
    {
      apiVersion: `${GATEWAY_API}/v1beta1`,
      kind: 'ReferenceGrant',
      metadata: metadataOf(service.namespace, name),
      spec: {
        from: others.flatMap((namespace) =>
          referrers.map((referrer) => ({ ...referrer, namespace })),
        ),
        to: [{ group: '', kind: 'Service', name: service.name }],
      },
    },
  ]
}

/** The ConfigMap with the CA is in the namespace of the Service. */
const tlsPolicy = ({ service }: ExportAddress, hostname: string): readonly Manifest[] =>
  service === undefined
    ? []
    : [
        {
          apiVersion: `${GATEWAY_API}/v1`,
          kind: 'BackendTLSPolicy',
          metadata: metadataOf(service.namespace, 'gatehouse'),
          spec: {
            targetRefs: [{ group: '', kind: 'Service', name: service.name }],
            validation: { caCertificateRefs: [AUTHORITY], hostname },
          },
        },
      ]

// Builds Backends for Gatehouse and the closed address in each namespace that refers to them.

/** Returns the Backends for the namespaces of the routes; none for an address that is a Service. */
function backends(
  routes: readonly MeshRoute[],
  { gatehouse, serverName, closed, newSeal }: ExportTargets,
): readonly Manifest[] {
  const all = new Set(routes.map(({ namespace }) => namespace))
  return [
    ...(gatehouse.service === undefined ? [...all] : []).map((namespace) =>
      backend(namespace, GATEHOUSE_BACKEND, gatehouse, connectionTo(serverName)),
    ),
    ...(closed.service === undefined ? closingNamespaces(routes, newSeal !== undefined) : []).map(
      (namespace) => backend(namespace, CLOSED_BACKEND, closed),
    ),
  ]
}

/** Returns the namespaces with routes that lead to the closed address. */
const closingNamespaces = (routes: readonly MeshRoute[], isSealed: boolean): readonly string[] => [
  ...new Set(
    routes
      .filter(({ documents }) => documents !== undefined || isSealed)
      .map(({ namespace }) => namespace),
  ),
]

/** Selects HTTP/2 in both cases: with TLS, Envoy Gateway sets it for every gRPC service. */
const connectionTo = (serverName: string | undefined): object =>
  serverName === undefined
    ? { appProtocols: [`${GROUP}/h2c`] }
    : {
        tls: {
          caCertificateRefs: [AUTHORITY],
          sni: serverName,
        },
      }

const backend = (
  namespace: string,
  name: string,
  { host, port }: ExportAddress,
  protocols: object = {},
): Manifest =>
  manifestOf('Backend', namespace, name, {
    endpoints: [
      isIP(host) === 0 ? { fqdn: { hostname: host, port } } : { ip: { address: host, port } },
    ],
    ...protocols,
  })
