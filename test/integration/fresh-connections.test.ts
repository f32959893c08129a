// 1,000 guarded chats at once while Envoy has no connection to Gatehouse, at first or after losing it: all wait for the
// new connection.

import { expect, onTestFinished, test } from 'vitest'
import type { JsonObject } from '../../src/model/json.js'
import { eventually } from '../../testing/eventually.js'
import { type GrpcRelay, startGrpcRelay } from '../support/grpc-relay.js'
import { chat } from '../support/guardrails.js'
import { send } from '../support/http.js'
import { requestMany } from '../support/many-requests.js'
import { type ServedStack, startServed } from '../support/served-stack.js'

const AT_ONCE = 1_000

const path = '/both/v1/chat/completions'
const request = { method: 'POST', headers: { 'content-type': 'application/json' } }

const requestAtOnce = ({ origin }: ServedStack): Promise<Record<string, number>> =>
  requestMany({
    url: origin + path,
    ...request,
    body: chat('hello'),
    count: AT_ONCE,
    connections: AT_ONCE,
  })

/** A PING of Envoy's waits as long as the relay holds back its answer. */
const withPatience = (usual: JsonObject): JsonObject =>
  JSON.parse(
    JSON.stringify(usual).replaceAll(
      '"connection_keepalive":{"interval":"1s","timeout":"3s"}',
      '"connection_keepalive":{"interval":"1s","timeout":"60s"}',
    ),
  ) as JsonObject

/** The relay is for one connection of HTTP/2 each time: Envoy's worker is the only one to ask ext_proc. */
async function start(): Promise<{ readonly stack: ServedStack; readonly relay: GrpcRelay }> {
  const relays: GrpcRelay[] = []
  const stack = await startServed('plain TCP', {
    bootstrap: withPatience,
    through: async (transport) => {
      const relay = await startGrpcRelay(transport)
      relays.push(relay)
      return relay.transport
    },
  })
  onTestFinished(async () => {
    await stack.close()
    await Promise.all(relays.map((relay) => relay.close()))
  })
  const [relay] = relays
  if (relay === undefined) throw new Error('no relay')
  return { stack, relay }
}

test('of an Envoy that has just started', async () => {
  const { stack } = await start()
  await stack.startEnvoy()
  await eventually(async () => expect((await send(stack.origin, '/nowhere')).status).toBe(404))
  expect(await requestAtOnce(stack)).toEqual({ 200: AT_ONCE })
})

test('when the connection has just been closed', async () => {
  const { stack, relay } = await start()
  await stack.startEnvoy()
  const one = { ...request, body: chat('hello') }
  await eventually(async () => expect((await send(stack.origin, path, one)).status).toBe(200))
  for (let round = 0; round < 3; round++) {
    await relay.cut()
    expect(await requestAtOnce(stack)).toEqual({ 200: AT_ONCE })
  }
})

test('before the SETTINGS of Gatehouse have come: Envoy opens a stream for each', async () => {
  const { stack, relay } = await start()
  await stack.startEnvoy()
  await eventually(async () => expect((await send(stack.origin, '/nowhere')).status).toBe(404))
  const release = relay.hold()
  const answers = requestAtOnce(stack)
  await eventually(() => expect(relay.mostStreams()).toBeGreaterThanOrEqual(AT_ONCE))
  release()
  expect(await answers).toEqual({ 200: AT_ONCE })
})
