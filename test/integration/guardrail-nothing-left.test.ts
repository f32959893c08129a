// Streams that end in every possible way, many times: no stream, socket or webhook connection remains.

import { once } from 'node:events'
import { readdirSync, readlinkSync } from 'node:fs'
import { type IncomingMessage, request } from 'node:http'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { eventually } from '../../testing/eventually.js'
import {
  chat,
  type GuardedStack,
  sample,
  startGuardedStack,
  webhookLimits,
} from '../support/guardrails.js'
import { nextReply, type OpenReply } from '../support/streaming-llm.js'

let stack: GuardedStack

beforeAll(async () => {
  stack = await startGuardedStack(webhookLimits({ KEEPALIVE_SECONDS: '3' }), { own: true })
})
afterAll(() => stack.close())

/** Sockets that Gatehouse's process holds. */
function sockets(): number {
  const folder = `/proc/${String(stack.child.pid)}/fd`
  return readdirSync(folder).filter((file) => {
    try {
      return readlinkSync(`${folder}/${file}`).startsWith('socket:')
    } catch {
      return false
    }
  }).length
}

async function openStreams(): Promise<number> {
  const stats = await (await fetch(`${stack.envoyAdmin}/stats?filter=rq_active`)).text()
  const counts = [...stats.matchAll(/^cluster\.\S*proc\S*\.upstream_rq_active: (\d+)$/gm)]
  expect(counts.length).toBeGreaterThan(0)
  return counts.reduce((sum, [, count]) => sum + Number(count), 0)
}

interface Exchange {
  readonly llm: OpenReply
  /** The reply has ended, whole or broken. */
  readonly ended: Promise<void>
  readonly leave: () => void
}

async function open(): Promise<Exchange> {
  stack.webhook.answer(sample)
  const reply = nextReply(stack.llm)
  const outgoing = request(`${stack.origin}/both/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    agent: false,
  })
  outgoing.on('error', () => {})
  outgoing.end(chat('x', { stream: true }))
  const [response] = (await once(outgoing, 'response')) as [IncomingMessage]
  response.on('error', () => {}).resume()
  const ended = new Promise<void>((resolve) => response.on('close', resolve))
  return { llm: await reply, ended, leave: () => outgoing.destroy() }
}

const LONG = 'some words '.repeat(200)

const ENDS: readonly (readonly [string, (exchange: Exchange) => void])[] = [
  [
    'whole',
    ({ llm }) => {
      llm.say(LONG)
      llm.finish()
      llm.end()
    },
  ],
  ['rejected', ({ llm }) => llm.say(`${LONG} block ${LONG}`)],
  [
    'left by the LLM',
    ({ llm }) => {
      llm.say(LONG)
      llm.destroy()
    },
  ],
  [
    'left by the client',
    ({ llm, leave }) => {
      llm.say(LONG)
      leave()
    },
  ],
  ['left before any text', ({ leave }) => leave()],
]

async function endInEveryWay(): Promise<void> {
  for (const [, end] of ENDS) {
    const exchange = await open()
    end(exchange)
    await Promise.all([exchange.ended, exchange.llm.closed])
  }
}

/** Number of times that each way is taken: a way that leaves a socket behind leaves as many. */
const ROUNDS = 4

test('what was open is closed, however the streams have ended', async () => {
  // Each of Envoy's workers has a connection of its own, which stays.
  for (let round = 0; round < ROUNDS; round += 1) await endInEveryWay()
  const settled = () =>
    eventually(async () => {
      expect(await openStreams()).toBe(0)
      expect(await stack.webhook.connections()).toBe(0)
    }, 20_000)
  await settled()
  const before = sockets()
  for (let round = 0; round < ROUNDS; round += 1) await endInEveryWay()
  await settled()
  // A worker that had nothing to do before may have made its connection now.
  await eventually(() => expect(sockets()).toBeLessThan(before + ROUNDS))
})
