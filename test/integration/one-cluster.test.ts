// An Envoy with one cluster for ADS, ext_authz and ext_proc: each of its threads uses one connection for all of them.

import { expect, onTestFinished, test } from 'vitest'
import type { JsonObject } from '../../src/model/json.js'
import { eventually } from '../../testing/eventually.js'
import { chat, sample } from '../support/guardrails.js'
import { type Answer, bearer, send } from '../support/http.js'
import { jwt, protectedRoute, sign } from '../support/protected-stack.js'
import { type ServedStack, startServed } from '../support/served-stack.js'
import { requestChats, requestDocuments } from '../support/short-requests.js'
import type { TransportName } from '../support/transports.js'

const CLUSTER = 'one_for_all'

/** Each of our clusters becomes that one. */
const rename = (config: object): JsonObject =>
  JSON.parse(
    JSON.stringify(config).replace(/gatehouse_(ext_authz|ext_proc|xds)\b/g, CLUSTER),
  ) as JsonObject

const without = (object: JsonObject, ...names: readonly string[]): JsonObject =>
  Object.fromEntries(Object.entries(object).filter(([name]) => !names.includes(name)))

/** The listener is in the bootstrap, as it names the cluster; its routes and their clusters are sent over ADS. */
function withOneCluster(usual: JsonObject, listener: JsonObject): JsonObject {
  const { dynamic_resources, static_resources } = usual as Record<string, JsonObject>
  const [cluster = {}] = static_resources?.['clusters'] as readonly JsonObject[]
  return rename({
    ...usual,
    dynamic_resources: without(dynamic_resources ?? {}, 'lds_config'),
    static_resources: { clusters: [cluster], listeners: [without(listener, '@type')] },
  })
}

interface Dump {
  readonly configs: readonly { readonly active_state: { readonly listener: JsonObject } }[]
}

async function start(transport: TransportName): Promise<ServedStack> {
  const known: JsonObject[] = []
  const stack = await startServed(transport, {
    flags: ['--drain-timeout', '20s'],
    bootstrap: (usual) => (known[0] === undefined ? usual : withOneCluster(usual, known[0])),
  })
  onTestFinished(() => stack.close())
  await stack.startEnvoy()
  const page = await fetch(`${stack.envoyAdmin}/config_dump?resource=dynamic_listeners`)
  const { configs } = (await page.json()) as Dump
  known.push(...configs.map(({ active_state }) => active_state.listener))
  await stack.startEnvoy()
  return stack
}

const ask = ({ origin }: ServedStack, content = 'hello'): Promise<Answer> =>
  send(origin, '/both/v1/chat/completions', { method: 'POST', body: chat(content) })

async function expectAllWorks(stack: ServedStack): Promise<void> {
  const headers = bearer(await sign(stack.key))
  await eventually(async () => {
    expect((await send(stack.origin, '/api', { headers })).status).toBe(200)
  })
  expect((await send(stack.origin, '/api')).status).toBe(401)
  expect((await ask(stack, 'block')).status).toBe(403)
  expect(await requestChats(stack, 200)).toEqual({ 200: 200 })
  expect(await requestDocuments(stack, 200)).toEqual({ 200: 200 })
}

/** Connections of that cluster that are open. */
async function connections({ envoyAdmin }: ServedStack): Promise<number> {
  const page = await fetch(`${envoyAdmin}/stats?filter=^cluster.${CLUSTER}.upstream_cx_active$`)
  return Number((await page.text()).split(': ')[1])
}

test.each(['plain TCP', 'TLS', 'mutual TLS'] as const)('over %s', async (transport) => {
  const stack = await start(transport)
  await expectAllWorks(stack)
  // Of the main thread, which has the stream of ADS, and of the worker.
  await eventually(async () => expect(await connections(stack)).toBe(2))

  // A change is sent over ADS, beside checks and guards.
  await stack.gatehouse.write(
    'more.yaml',
    ...protectedRoute('more', { jwtAuthentication: jwt([stack.key]) }),
  )
  const headers = bearer(await sign(stack.key))
  await eventually(async () => {
    expect((await send(stack.origin, '/more', { headers })).status).toBe(200)
  })

  // A Gatehouse that dies, and another one in its place.
  await stack.gatehouse.stop('SIGKILL')
  expect((await send(stack.origin, '/api', { headers })).status).toBe(503)
  expect((await ask(stack)).status).toBe(503)
  await stack.startGatehouse()
  await expectAllWorks(stack)
  await eventually(async () => {
    expect((await send(stack.origin, '/more', { headers })).status).toBe(404)
  })

  // One that drains finishes what is under way.
  let release = (): void => {}
  stack.webhook.answer((request, response) => {
    release = () => sample(request, response)
    stack.webhook.answer(sample)
  })
  const seen = stack.webhook.requests.length
  const underWay = ask(stack)
  await eventually(() => expect(stack.webhook.requests.length).toBeGreaterThan(seen))
  const ended = stack.gatehouse.stop()
  await eventually(async () => {
    expect((await fetch(`${stack.gatehouse.admin}/readyz`)).status).toBe(503)
  })
  release()
  expect((await underWay).status).toBe(200)
  expect(await ended).toBe(0)
  await stack.startGatehouse()
  await expectAllWorks(stack)
})
