// An upgrade from the last release to this checkout as docs/kubernetes.md has it, under traffic: no request is lost or let
// through, and what the last release has written, sealed and signed stays good. The tests are its steps, in their order.

import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { AnyObject } from '../../testing/api-call.js'
import { type ApiServer, definitions, listPath } from '../../testing/api-server.js'
import { eventually } from '../../testing/eventually.js'
import { freePort } from '../../testing/ports.js'
import type { Replica } from '../../testing/replica.js'
import { type Backend, startBackend } from '../support/backend.js'
import { ask } from '../support/clients/consenting-agent.js'
import { CLIENT_ID, idpOne, startTestIdp, type TestIdp } from '../support/identity-provider.js'
import { type OtherEnvoy, startOtherEnvoy } from '../support/other-envoy.js'
import {
  authorizationAt,
  exchangeAt,
  logInAt,
  refreshAt,
  registerAt,
  type RelayLogin,
  type Tokens,
} from '../support/relay-login.js'
import { CALLBACK, relayPolicy } from '../support/relay-stack.js'
import {
  API_GROUP,
  gateway,
  httpRoute,
  mcpRoute,
  proxyBackend,
  proxyPolicy,
  remoteJwks,
  rule,
} from '../support/resources.js'
import { startTraffic, statusesOf, type Traffic } from '../support/traffic.js'
import { gatewayClass } from './support/objects.js'
import { apiServerFor } from './support/shared-api-server.js'
import { startTcpProxy, type Target, type TcpProxy } from './support/tcp-proxy.js'
import { crdsOf, NEW, OLD, rolesOf, startVersion } from './support/version.js'

const GATEWAY_API = 'gateway.networking.k8s.io/v1'
const OURS = `${API_GROUP}/v1alpha1`
const WRITES = '"this replica writes status"'
const WRITES_NOT = '"this replica does not write status'

function targetOf({ grpc }: Replica): Target {
  const [host = '', port] = grpc.split(':')
  return { host, port: Number(port) }
}

let api: ApiServer
let idp: TestIdp
let backend: Backend
let address: TcpProxy
/**
 * Envoys by the Gateway that they serve: those of "old" and "new" ask one replica alone. What was there before the upgrade keeps
 * the bootstrap of the last release.
 */
const envoys: Partial<Record<'gw' | 'old' | 'new', OtherEnvoy>> = {}
let ports: Record<'gw' | 'old' | 'new', number>
const replicas = new Map<string, Replica>()

const originOf = (name: keyof typeof ports): string => `http://127.0.0.1:${String(ports[name])}`

function replica(name: string): Replica {
  const found = replicas.get(name)
  if (found === undefined) throw new Error(`there is no replica ${name}`)
  return found
}

/** As a rollout does: the new pod is ready, then it is in the Service, then the old pod leaves it and is ended. */
async function replace(old: string, name: string): Promise<void> {
  replicas.set(name, await startVersion(api, NEW, name))
  address.lead(...[...replicas.values()].map(targetOf))
  await end(old)
}

async function end(name: string): Promise<void> {
  const ended = replica(name)
  replicas.delete(name)
  address.lead(...[...replicas.values()].map(targetOf))
  expect(await ended.stop('SIGTERM')).toBe(0)
}

const READ: readonly (readonly [string, string, string])[] = [
  [GATEWAY_API, 'GatewayClass', 'gatehouse'],
  [GATEWAY_API, 'Gateway', 'gw'],
  [GATEWAY_API, 'HTTPRoute', 'app'],
  [GATEWAY_API, 'HTTPRoute', 'mcp'],
  [OURS, 'ProxyPolicy', 'app'],
  [OURS, 'ProxyPolicy', 'mcp'],
]

/** What all statuses say, since when, by the place where it stands. */
async function conditions(): Promise<Readonly<Record<string, string>>> {
  const found: Record<string, string> = {}
  const collect = (value: unknown, where: string): void => {
    if (typeof value !== 'object' || value === null) return
    const { type, status, reason, lastTransitionTime } = value as Record<string, string>
    if (type !== undefined && lastTransitionTime !== undefined)
      found[`${where} ${type}`] = `${status ?? ''} ${reason ?? ''} since ${lastTransitionTime}`
    for (const [key, member] of Object.entries(value))
      collect(
        member,
        Array.isArray(value) && where.endsWith('conditions') ? where : `${where}.${key}`,
      )
  }
  for (const [version, kind, name] of READ)
    collect((await api.get(version, kind, name)).status, `${kind} ${name}`)
  return found
}

const appRoute = (more: object = {}): object =>
  httpRoute('app', {
    parentRefs: [{ name: 'gw' }],
    rules: [rule('/app', 'backend', more)],
  })

const appPolicy = (more: object = {}): object =>
  proxyPolicy('app', 'app', {
    jwtAuthentication: {
      mode: 'Strict',
      providers: [
        {
          issuer: idp.issuer,
          audiences: [CLIENT_ID],
          jwks: remoteJwks('idp', idp.port, idp.jwksPath),
        },
      ],
      ...more,
    },
  })

/** What a client got from the last release, and keeps. */
let kept: { readonly client: string; readonly tokens: Tokens }
let before: Readonly<Record<string, string>>
let traffic: { readonly good: readonly Traffic[]; readonly bad: readonly Traffic[] }

beforeAll(async () => {
  if (process.env['GATEHOUSE_TEST_LAST_RELEASE'] === undefined)
    throw new Error('GATEHOUSE_TEST_LAST_RELEASE is not set: run npm test -- --project kubernetes')
  ;[api, idp, backend] = await Promise.all([
    apiServerFor({ own: true, bare: true }),
    startTestIdp(idpOne, { sendIss: true }),
    startBackend(),
  ])
  ports = { gw: await freePort(), old: await freePort(), new: await freePort() }
  const others = definitions().filter(
    (definition) => (definition as { spec: { group: string } }).spec.group !== API_GROUP,
  )
  const all = [...others, ...crdsOf(OLD)]
  await api.apply(...all)
  for (const path of all.map(listPath)) await eventually(() => api.call('GET', path))
  await api.apply(
    ...rolesOf(OLD),
    gatewayClass(),
    ...Object.entries(ports).map(([name, port]) => gateway([port], name)),
    {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'relay-key' },
      data: { key: Buffer.from('k'.repeat(32)).toString('base64') },
    },
    proxyBackend('backend', backend),
    proxyBackend('idp', idp),
    appRoute(),
    appPolicy(),
    mcpRoute('mcp', 'backend', '/mcp', {
      parentRefs: Object.keys(ports).map((name) => ({ name })),
    }),
    relayPolicy(idp, `${originOf('gw')}/mcp`, { keyRef: [{ name: 'relay-key' }] }),
  )
  for (const name of ['old-1', 'old-2']) replicas.set(name, await startVersion(api, OLD, name))
  address = await startTcpProxy('127.0.0.1', ...[...replicas.values()].map(targetOf))
  envoys.gw = await startOtherEnvoy(`127.0.0.1:${String(address.port)}`, 'default/gw', OLD.main)
  envoys.old = await startOtherEnvoy(replica('old-2').grpc, 'default/old', OLD.main)
  // Once the provider's documents have been fetched, nothing changes any more.
  await eventually(async () => {
    before = await conditions()
    expect(Object.keys(before).length).toBeGreaterThan(10)
    expect(Object.values(before).filter((text) => !text.startsWith('True'))).toEqual([])
  })
  const client = await registerAt(originOf('gw'))
  const tokens = await exchangeAt(originOf('gw'), await logInAt(originOf('gw'), new Map(), client))
  expect(tokens).toEqual(expect.objectContaining({ refresh_token: expect.any(String) as string }))
  kept = { client, tokens }
  const authorization = `Bearer ${kept.tokens.access_token ?? ''}`
  const urls = ['app', 'mcp'].map((path) => `${originOf('gw')}/${path}`)
  for (const url of urls)
    await eventually(async () =>
      expect((await fetch(url, { headers: { authorization } })).status).toBe(200),
    )
  traffic = {
    good: urls.map((url) => startTraffic({ url, headers: { authorization }, pauseMs: 10 })),
    bad: urls.map((url) => startTraffic({ url, pauseMs: 10 })),
  }
}, 300_000)

afterAll(async () => {
  await Promise.all(Object.values(envoys).map((envoy) => envoy.stop()))
  await Promise.all([...replicas.values()].map((one) => one.stop('SIGKILL')))
  await address.close()
  await Promise.all([idp.close(), backend.close(), api.close()])
})

/** Waits until each stream of requests has had some more answers. */
async function moreTraffic(): Promise<void> {
  for (const { outcomes } of [...traffic.good, ...traffic.bad]) {
    const until = outcomes.length + 50
    await eventually(() => expect(outcomes.length).toBeGreaterThan(until))
  }
}

/** A login that begins at one origin; the provider sends the user back to another one. */
async function logInAcross(begin: string, finish: string, client: string): Promise<RelayLogin> {
  const verifier = randomBytes(32).toString('base64url')
  const cookies = new Map<string, Map<string, string>>()
  let url = authorizationAt(begin, client, verifier)
  const redirectUri = url.searchParams.get('redirect_uri') ?? ''
  let form: URLSearchParams | undefined
  const steps = []
  while (!url.href.startsWith(redirectUri)) {
    // Consent is given at the Gateway's origin alone, whichever Envoy answers.
    const step = await ask(url, form, cookies, { origin: originOf('gw') })
    steps.push(step)
    const location = step.headers.get('location')
    const token = /name="token" value="([^"]+)"/.exec(step.body)?.[1]
    if (location === null && token === undefined)
      throw new Error(`${url.href} answered ${String(step.status)}: ${step.body}`)
    form =
      location === null ? new URLSearchParams({ token: token ?? '', decision: 'allow' }) : undefined
    if (location !== null) url = new URL(location, url)
    // The Envoys stand for one Gateway, whose origin the provider knows.
    if (url.pathname === CALLBACK) url = new URL(url.pathname + url.search, finish)
  }
  expect(steps.map((step) => step.url.origin)).toEqual(expect.arrayContaining([begin, finish]))
  return { client, verifier, cookies, steps, code: url.searchParams.get('code') ?? '' }
}

const ACCESS = expect.objectContaining({ access_token: expect.any(String) as string }) as unknown

test('the new CRDs and roles change no status', async () => {
  await api.apply(...crdsOf(NEW))
  await api.apply(...rolesOf(NEW))
  await moreTraffic()
  expect(await conditions()).toEqual(before)
})

describe('a new replica beside an old one', () => {
  beforeAll(async () => {
    await replace('old-1', 'new-1')
    envoys.new = await startOtherEnvoy(replica('new-1').grpc, 'default/new')
    await moreTraffic()
  })

  test.each([
    ['old', 'new'],
    ['new', 'old'],
  ] as const)('a login begun at the %s one is finished at the %s one', async (begin, finish) => {
    const [first, second] = [originOf(begin), originOf(finish)]
    const client = await registerAt(first)
    const tokens = await exchangeAt(second, await logInAcross(first, second, client))
    expect(tokens).toEqual(ACCESS)
    // The code of one at the other.
    expect(await exchangeAt(first, await logInAcross(first, second, client))).toEqual(ACCESS)
    const again = await refreshAt(first, client, tokens.refresh_token ?? '')
    expect(again).toEqual(ACCESS)
    expect(await refreshAt(second, client, again.refresh_token ?? '')).toEqual(ACCESS)
  })

  test('all say the same of what is written', async () => {
    await moreTraffic()
    expect(await conditions()).toEqual(before)
  })

  test('both serve a change, and its status is written', async () => {
    await api.apply(appPolicy({ forwardToken: true }))
    await eventually(async () => {
      const from = backend.requests.length
      await moreTraffic()
      const asked = backend.requests.slice(from).filter(({ url }) => url === '/app')
      expect(asked.filter(({ headers }) => headers.authorization === undefined)).toEqual([])
      const { status } = await api.get(OURS, 'ProxyPolicy', 'app')
      expect(generationsIn(status)).toEqual(new Set([2]))
    })
  })
})

describe('new replicas alone', () => {
  beforeAll(async () => {
    await envoys.old?.stop()
    delete envoys.old
    await replace('old-2', 'new-2')
    await moreTraffic()
  })

  test('a client of the last release logs in again', async () => {
    const login = await logInAt(originOf('gw'), new Map(), kept.client)
    expect(await exchangeAt(originOf('gw'), login)).toEqual(ACCESS)
  })

  test('a refresh token of the last release is good', async () => {
    const refreshed = await refreshAt(originOf('gw'), kept.client, kept.tokens.refresh_token ?? '')
    expect(refreshed).toEqual(ACCESS)
    const authorization = `Bearer ${refreshed.access_token ?? ''}`
    const { status } = await fetch(`${originOf('gw')}/mcp`, { headers: { authorization } })
    expect(status).toBe(200)
  })

  test('what the last release has written into statuses is there, and true since then', async () => {
    expect(await conditions()).toMatchObject(before)
  })

  test('one of them writes status', async () => {
    await eventually(() => {
      const writers = [...replicas].filter(
        ([, each]) => each.log().lastIndexOf(WRITES) > each.log().lastIndexOf(WRITES_NOT),
      )
      expect(writers).toHaveLength(1)
    })
    const lease = await api.get('coordination.k8s.io/v1', 'Lease', 'gatehouse')
    const { holderIdentity } = lease.spec as { readonly holderIdentity: string }
    expect([...replicas.keys()]).toContain(holderIdentity)
    await api.apply(appRoute({ timeouts: { request: '30s' } }))
    await eventually(async () => {
      const { metadata, status } = await api.get(GATEWAY_API, 'HTTPRoute', 'app')
      expect(metadata.generation).toBe(2)
      expect(generationsIn(status)).toEqual(new Set([2]))
    })
  })
})

const generationsIn = (status: AnyObject['status']): ReadonlySet<number> =>
  new Set(
    [...JSON.stringify(status).matchAll(/"observedGeneration":(\d+)/g)].map(([, number]) =>
      Number(number),
    ),
  )

test('no request was lost, and none got through without a token', async () => {
  await moreTraffic()
  const all = async (streams: readonly Traffic[]) =>
    Promise.all(streams.map(async (each) => statusesOf(await each.stop())))
  const some = expect.any(Number) as number
  expect(await all(traffic.good)).toEqual([{ '200': some }, { '200': some }])
  expect(await all(traffic.bad)).toEqual([{ '401': some }, { '401': some }])
})
