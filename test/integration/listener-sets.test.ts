// ListenerSets through a real Envoy: teams add listeners to a Gateway of another namespace, and no team can take the host
// name of another.

import { afterAll, beforeAll, expect, test } from 'vitest'
import { eventually } from '../../testing/eventually.js'
import { freePort } from '../../testing/ports.js'
import { type Backend, startBackend } from '../support/backend.js'
import { selfSigned } from '../support/certificates.js'
import { send } from '../support/http.js'
import { API_GROUP, type Document, gateway, proxyBackend, rule } from '../support/resources.js'
import { type Stack, startStack } from '../support/stack.js'

const GATEWAY_API = 'gateway.networking.k8s.io'
const certificate = selfSigned('team.example')
const ports = {} as Record<'own' | 'secure', number>
let backends: Record<'team' | 'thief', Backend>
let stack: Stack

const inNamespace = (namespace: string, document: Document): Document => ({
  ...document,
  metadata: { ...document.metadata, namespace },
})
const listenerSet = (namespace: string, created: string, ...listeners: object[]): object => ({
  apiVersion: `${GATEWAY_API}/v1`,
  kind: 'ListenerSet',
  metadata: { name: 'set', namespace, creationTimestamp: created },
  spec: { parentRef: { name: 'gw', namespace: 'default' }, listeners },
})
const route = (namespace: string): object => ({
  apiVersion: `${GATEWAY_API}/v1`,
  kind: 'HTTPRoute',
  metadata: { name: 'all', namespace },
  spec: {
    parentRefs: [
      { kind: 'ListenerSet', name: 'set' },
      { kind: 'Gateway', name: 'gw', namespace: 'default' },
    ],
    // The routes are equally old, and "team" takes precedence for equal paths.
    rules: [rule('/', 'backend'), rule(`/of-${namespace}`, 'backend')],
  },
})
const policy = (namespace: string, kind: string, name: string, expression: string): object => ({
  apiVersion: `${API_GROUP}/v1alpha1`,
  kind: 'ProxyPolicy',
  metadata: { name: 'policy', namespace },
  spec: {
    targetRefs: [{ group: GATEWAY_API, kind, name }],
    traffic: { authorization: { policy: { matchExpressions: [expression] } } },
  },
})
function allowing(port: number, from: string): object {
  const { spec, ...own } = gateway([
    { name: 'http', port, protocol: 'HTTP', hostname: 'gw.example' },
  ])
  return { ...own, spec: { ...spec, allowedListeners: { namespaces: { from } } } }
}
const http = (port: number, hostname: string): object => ({
  name: hostname.replaceAll('.', '-'),
  port,
  protocol: 'HTTP',
  hostname,
})

beforeAll(async () => {
  backends = { team: await startBackend('team'), thief: await startBackend('thief') }
  for (const name of ['own', 'secure'] as const) ports[name] = await freePort()
  stack = await startStack({
    resources: (port) => [
      listenerSet(
        'team',
        '2026-01-01T00:00:00Z',
        http(port, 'team.example'),
        http(ports.own, 'own.example'),
        {
          name: 'https',
          port: ports.secure,
          protocol: 'HTTPS',
          tls: { certificateRefs: [{ name: 'certificate' }] },
        },
      ),
      {
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: { name: 'certificate', namespace: 'team' },
        stringData: { 'tls.crt': certificate.cert, 'tls.key': certificate.key },
      },
      listenerSet(
        'thief',
        '2026-01-02T00:00:00Z',
        http(port, 'team.example'),
        http(port, '*.example'),
      ),
      ...(['team', 'thief'] as const).flatMap((namespace) => [
        inNamespace(namespace, proxyBackend('backend', backends[namespace])),
        route(namespace),
      ]),
    ],
    unready: true,
  })
  await stack.write('gateway.yaml', allowing(stack.port, 'All'))
  await eventually(async () => expect(await ask('team.example')).toBe('team'))
})
afterAll(async () => {
  await stack.close()
  await backends.team.close()
  await backends.thief.close()
})

/** Resolves to the body of the answer if it is 200, else to the status. */
async function ask(
  host: string,
  port = stack.port,
  method = 'GET',
  path = '/',
): Promise<string | number> {
  const origin = `http://127.0.0.1:${String(port)}`
  const { status, body } = await send(origin, path, { method, headers: { host } })
  return status === 200 ? body : status
}

test('a route is served at the listeners of its ListenerSet, on ports of the Gateway and on others', async () => {
  expect(await ask('team.example')).toBe('team')
  expect(await ask('own.example', ports.own)).toBe('team')
  expect(await ask('team.example', ports.own)).toBe(404)
  const answer = await send(`https://127.0.0.1:${String(ports.secure)}`, '/', {
    headers: { host: 'team.example' },
    tls: { servername: 'team.example', ca: certificate.cert },
  })
  expect(answer.body).toBe('team')
})

test('a younger ListenerSet gets neither the host name of an older one nor, by a wildcard, that of the Gateway', async () => {
  expect(await ask('other.example')).toBe('thief')
  expect(await ask('team.example', stack.port, 'GET', '/of-thief')).toBe('team')
  expect(await ask('gw.example')).toBe(404)
  const { conditions = [] } =
    (await stack.status()).find(
      ({ kind, namespace }) => kind === 'ListenerSet' && namespace === 'thief',
    ) ?? {}
  expect(conditions).toContainEqual(
    expect.objectContaining({ type: 'Conflicted', status: 'True', reason: 'HostnameConflict' }),
  )
})

test('a policy of the Gateway is the default of its ListenerSets, and one of a ListenerSet replaces it there', async () => {
  await stack.write('default.yaml', policy('default', 'Gateway', 'gw', 'request.method == "PUT"'))
  await eventually(async () => {
    for (const host of ['team.example', 'other.example']) expect(await ask(host)).toBe(403)
    expect(await ask('team.example', stack.port, 'PUT')).toBe('team')
  })
  await stack.write('team.yaml', policy('team', 'ListenerSet', 'set', 'request.method == "GET"'))
  await eventually(async () => {
    expect(await ask('team.example')).toBe('team')
    expect(await ask('team.example', stack.port, 'PUT')).toBe(403)
  })
  expect(await ask('other.example')).toBe(403)
  await stack.remove('default.yaml')
  await stack.remove('team.yaml')
  await eventually(async () => expect(await ask('other.example')).toBe('thief'))
})

test('a Gateway that no longer allows ListenerSets closes their ports, host names and routes', async () => {
  await stack.write('gateway.yaml', allowing(stack.port, 'Same'))
  await eventually(async () => {
    expect(await ask('team.example')).toBe(404)
    await expect(ask('own.example', ports.own)).rejects.toThrow()
  })
})
