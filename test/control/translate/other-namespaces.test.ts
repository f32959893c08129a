// What a namespace does to the Envoys of another one: nothing, whatever its policies say and wherever they point.

import { describe, expect, test } from 'vitest'
import { collectResources } from '../../../src/control/schema/decode/resource-set.js'
import { kindsOf } from '../../../src/control/schema/kinds/kinds.js'
import { decodeFile } from '../../../src/control/sources/files/file-record.js'
import { createTranslator } from '../../../src/control/translate/translator.js'
import type { Ir } from '../../../src/model/ir.js'
import type { ResourceStatus } from '../../../src/model/status.js'
import {
  API_GROUP,
  backendRef,
  type Document,
  gatewayForAll,
  httpRoute,
  prefix,
  proxyBackend,
  toYaml,
} from '../../support/resources.js'
import { OPTIONS } from '../../support/translate-case.js'

const GATEWAY_API = 'gateway.networking.k8s.io'
const HOST = 'shop.example'

const within = (namespace: string, document: Document): Document => ({
  ...document,
  metadata: { ...document.metadata, namespace },
})

const policy = (name: string, target: object, spec: object): Document => ({
  apiVersion: `${API_GROUP}/v1alpha1`,
  kind: 'ProxyPolicy',
  metadata: { name },
  spec: {
    targetRefs: [{ group: GATEWAY_API, kind: 'HTTPRoute', name: 'mcp', ...target }],
    ...spec,
  },
})

const routeAt = (name: string, hostname: string, path: string): Document =>
  httpRoute(name, {
    parentRefs: [{ name: 'gw', namespace: 'infra' }],
    hostnames: [hostname],
    rules: [{ matches: [prefix(path)], backendRefs: [backendRef('backend')] }],
  })

const KEYS = '{"keys":[]}'
const tokens = (mcp?: object): object => ({
  traffic: {
    jwtAuthentication: {
      mode: 'Strict',
      providers: [{ issuer: 'https://idp.example', audiences: ['mcp'], jwks: { inline: KEYS } }],
      ...(mcp === undefined ? {} : { mcp }),
    },
  },
})
const relay = (resource: string | undefined, more: object = {}): object =>
  tokens({
    authorizationServer: 'Relay',
    clientId: 'mcp',
    relay: { keyRef: [{ name: 'relay-key' }] },
    ...(resource === undefined ? {} : { resourceMetadata: { resource } }),
    ...more,
  })
const limited = { traffic: { rateLimit: { local: [{ requests: 5, per: '1s' }] } } }
const rules = (rule: string): object => ({
  traffic: { authorization: { policy: { matchExpressions: [rule] } } },
})
function guard(kind: 'ai' | 'mcp'): object {
  const entries = { request: [{ webhook: { backendRef: { name: 'hook', port: 80 } } }] }
  return { backend: { [kind]: kind === 'ai' ? { promptGuard: entries } : { guard: entries } } }
}

/** Everything that serves a tenant, and the shared Gateway. */
const VICTIM: readonly Document[] = [
  within('infra', gatewayForAll()),
  ...[
    proxyBackend('backend', { host: '10.0.0.1', port: 80 }),
    routeAt('open', HOST, '/'),
    routeAt('limited', HOST, '/limited'),
    routeAt('mcp', HOST, '/mcp'),
    routeAt('wild', `*.${HOST}`, '/'),
    policy('limits', { name: 'limited' }, limited),
    policy('mcp', {}, tokens({ resourceMetadata: { resource: `https://${HOST}/mcp` } })),
  ].map((one) => within('victim', one)),
]

/** The specs of an attacker's policies, by what they are. */
const SPECS: Readonly<Record<string, object>> = {
  'a relay': relay(`https://${HOST}/mcp`),
  'a relay below the host': relay(`https://a.${HOST}/mcp`),
  'a relay at another port': relay(`https://${HOST}:8443/mcp`),
  'a relay on a host that nobody serves': relay('https://nobody.example/mcp'),
  'a relay without a resource': relay(undefined),
  'a relay that is refused': relay(`https://${HOST}/mcp`, { clientId: undefined }),
  'a relay in Audit': { mode: 'Audit', ...relay(`https://${HOST}/mcp`) },
  documents: tokens({ resourceMetadata: { resource: `https://${HOST}/mcp` } }),
  tokens: tokens(),
  rules: rules('request.path == "/"'),
  'rules that read mcp': rules('mcp.tool.name == "x"'),
  'rules that are none': rules('('),
  limits: limited,
  headers: { traffic: { transformation: { request: { remove: ['cookie'] } } } },
  'a prompt guard': guard('ai'),
  'an MCP guard': guard('mcp'),
  'a timeout': { backend: { http: { requestTimeout: '1ms' } } },
}

/** The targets of an attacker's policies, all at once. */
const TARGETS: readonly object[] = [
  // Its own route, the name of the victim's, and one that is not there.
  ...['evil', 'mcp', 'nowhere'].map((name) => ({ name })),
  // The name of the shared Gateway, its listener, and what may be meant for it.
  { kind: 'Gateway', name: 'gw' },
  { kind: 'Gateway', name: 'gw', sectionName: 'http' },
  { kind: 'Gatewy', name: 'gw' },
  { kind: 'ListenerSet', name: 'gw' },
  { group: '', kind: 'Service', name: 'backend' },
  { group: API_GROUP, kind: 'ProxyBackend', name: 'backend' },
]

/** What the attacker has besides its policies: no route, or one on hosts of its own, or one that no Gateway takes. */
const PLACES: readonly (readonly Document[])[] = [
  [],
  [routeAt('evil', 'evil.example', '/')],
  [routeAt('evil', '*.example', '/')],
  [httpRoute('evil', { parentRefs: [{ name: 'none' }], rules: [{}] })],
]

function translated(...documents: readonly Document[]) {
  const decoded = decodeFile(Buffer.from(toYaml(...documents)), 'all.yaml', kindsOf(API_GROUP))
  if (decoded.problems.length > 0) throw new Error(JSON.stringify(decoded.problems))
  return createTranslator(OPTIONS).translate(
    collectResources(decoded.resources).resources,
    new Map(),
  )
}

/** Everything of the model that is for the victim's hosts, routes and backends. */
function ofVictim({ gateways, destinations, authz, proc }: Ir): string {
  const hosts = gateways
    .flatMap(({ listeners }) => listeners.flatMap(({ chains }) => chains))
    .flatMap(({ virtualHosts }) => virtualHosts)
  return JSON.stringify({
    hosts: hosts.filter(({ domains }) => domains.some((domain) => domain.endsWith(HOST))),
    destinations: destinations.filter(({ name }) => name.includes('/victim/')),
    authz: authz.filter(({ key }) => key.startsWith('victim/')),
    proc: proc.filter(({ key }) => key.startsWith('victim/')),
  })
}

const statusesOf = (statuses: readonly ResourceStatus[], namespace: string) =>
  statuses.filter((status) => status.namespace === namespace)

describe('policies of another namespace', () => {
  const alone = translated(...VICTIM)

  test.each(Object.entries(SPECS))(
    '%s: nothing of the victim changes, whatever the target and the place',
    (_, spec) => {
      const policies = TARGETS.map((target, index) => policy(`evil-${index}`, target, spec))
      for (const place of PLACES) {
        const evil = [
          ...place,
          proxyBackend('backend', { host: '10.0.0.2', port: 80 }),
          ...policies,
        ].map((one) => within('attacker', one))
        const { ir, statuses } = translated(...VICTIM, ...evil)
        expect(ofVictim(ir)).toBe(ofVictim(alone.ir))
        expect(statusesOf(statuses, 'victim')).toEqual(statusesOf(alone.statuses, 'victim'))
        if (place.length === 0)
          expect(JSON.stringify(ir.gateways)).toBe(JSON.stringify(alone.ir.gateways))
      }
    },
  )
})

describe('the cookies of a relay', () => {
  const copies = (...documents: readonly Document[]): readonly string[] =>
    translated(...VICTIM, ...documents)
      .ir.gateways.flatMap(({ listeners }) => listeners.flatMap(({ chains }) => chains))
      .flatMap(({ virtualHosts }) => virtualHosts.flatMap(({ routes }) => routes))
      .flatMap(({ name, removesRelayCookies }) => (removesRelayCookies === true ? [name] : []))
  const grant = (name?: string): Document =>
    within('victim', {
      apiVersion: `${GATEWAY_API}/v1`,
      kind: 'ReferenceGrant',
      metadata: { name: 'relay' },
      spec: {
        from: [{ group: API_GROUP, kind: 'ProxyPolicy', namespace: 'logins' }],
        to: [{ group: GATEWAY_API, kind: 'HTTPRoute', ...(name === undefined ? {} : { name }) }],
      },
    })
  const login = policy('login', {}, relay(`https://${HOST}/mcp`))

  test('are kept from the routes of another namespace that lets it, by name or all of them', () => {
    const there = within('logins', login)
    expect(copies(there)).toEqual([])
    expect(copies(there, grant('limited'))).toEqual(['victim/limited/0/0/relay-cookies'])
    expect(copies(there, grant())).toEqual([
      'victim/limited/0/0/relay-cookies',
      'victim/open/0/0/relay-cookies',
    ])
    expect(copies(within('others', login), grant())).toEqual([])
  })

  test('are kept from all routes of a host that routes of its namespace serve', () => {
    const own = within('logins', routeAt('own', HOST, '/own'))
    expect(copies(within('logins', login), own)).toEqual([
      'victim/limited/0/0/relay-cookies',
      'logins/own/0/0/relay-cookies',
      'victim/open/0/0/relay-cookies',
    ])
    expect(copies(within('others', login), own)).toEqual([])
  })
})
