// N routes, N backends and N policies as they are read from files; and the same with one of them changed.

import type { DecodedResource } from '../src/resources/decode.js'
import { decodeFile } from '../src/resources/file-record.js'
import { kindsOf } from '../src/resources/kinds.js'
import { collectResources } from '../src/resources/resource-set.js'
import type { Resources } from '../src/resources/resources.js'

const GATEWAY_API = 'gateway.networking.k8s.io'
const OURS = 'policy.gatehouse.dev'

/** All policies share it, as they would a provider's keys. */
const JWKS = JSON.stringify({ keys: [{ kty: 'oct', kid: 'none', k: 'AA' }] })

const KINDS = kindsOf(OURS)

const decode = (document: object): DecodedResource => {
  const { resources, problems } = decodeFile(
    Buffer.from(JSON.stringify(document)),
    'many.json',
    KINDS,
  )
  const [resource] = resources
  if (resource === undefined) throw new Error(problems[0]?.message)
  return resource
}

const gateway = (): DecodedResource =>
  decode({
    apiVersion: `${GATEWAY_API}/v1`,
    kind: 'Gateway',
    metadata: { name: 'gateway' },
    spec: {
      gatewayClassName: 'gatehouse',
      listeners: [{ name: 'http', port: 8080, protocol: 'HTTP' }],
    },
  })

const backend = (index: number): DecodedResource =>
  decode({
    apiVersion: `${OURS}/v1alpha1`,
    kind: 'ProxyBackend',
    metadata: { name: `backend-${String(index)}` },
    spec: { static: { host: '127.0.0.1', port: 1 + index } },
  })

/** version: makes it another route than before. */
const route = (index: number, version = ''): DecodedResource =>
  decode({
    apiVersion: `${GATEWAY_API}/v1`,
    kind: 'HTTPRoute',
    metadata: { name: `route-${String(index)}` },
    spec: {
      parentRefs: [{ name: 'gateway' }],
      rules: [
        {
          matches: [{ path: { type: 'PathPrefix', value: `/route-${String(index)}${version}` } }],
          backendRefs: [{ group: OURS, kind: 'ProxyBackend', name: `backend-${String(index)}` }],
        },
      ],
    },
  })

/** version: makes its rule another one than before. */
const policy = (index: number, version = ''): DecodedResource =>
  decode({
    apiVersion: `${OURS}/v1alpha1`,
    kind: 'ProxyPolicy',
    metadata: { name: `policy-${String(index)}` },
    spec: {
      targetRefs: [{ group: GATEWAY_API, kind: 'HTTPRoute', name: `route-${String(index)}` }],
      traffic: {
        jwtAuthentication: {
          providers: [{ issuer: 'https://idp.example', audiences: ['a'], jwks: { inline: JWKS } }],
        },
        authorization: {
          policy: { matchExpressions: [`jwt.team == "team-${String(index)}${version}"`] },
        },
      },
    },
  })

export interface ManyRoutes {
  resources(): Resources
  /** Changes one of them. version: another one each time. */
  changeRoute(index: number, version: string): void
  changePolicy(index: number, version: string): void
}

export function manyRoutes(count: number): ManyRoutes {
  const indexes = [...Array(count).keys()]
  const [fixed, routes, policies] = [
    [gateway(), ...indexes.map(backend)],
    indexes.map((index) => route(index)),
    indexes.map((index) => policy(index)),
  ]
  return {
    resources: () => collectResources([...fixed, ...routes, ...policies]).resources,
    changeRoute: (index, version) => void (routes[index] = route(index, version)),
    changePolicy: (index, version) => void (policies[index] = policy(index, version)),
  }
}
