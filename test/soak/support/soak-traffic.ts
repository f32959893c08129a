// Sends traffic of all kinds at once until it is stopped: checks, guarded chats and streams through an Envoy, and peers
// of every kind directly to the gRPC address.

import { once } from 'node:events'
import { Agent, request } from 'node:http'
import { connect as connectHttp2, constants } from 'node:http2'
import { connect } from 'node:net'
import { PREFACE } from '../../../src/wire/http2/protocol.js'
import type { Backend } from '../../support/backend.js'
import { answerJson, chat, completion } from '../../support/guardrails.js'
import { statusOf } from '../../support/many-requests.js'
import { delta } from '../../support/streaming-llm.js'
import { headers, settings } from '../../wire/http2/raw-peer.js'

export interface Soak {
  /** Origin of Envoy's listener. */
  readonly origin: string
  /** Port of Gatehouse's gRPC server. */
  readonly grpcPort: number
  /** Tokens for /api. */
  readonly tokens: readonly string[]
  readonly stop: AbortSignal
  /** Outcome → how often. */
  readonly counts: Record<string, number>
  /** The ends of half-open peers. */
  readonly standing: Set<Promise<void>>
}

const CHAT = '/both/v1/chat/completions'
const JSON_TYPE = { 'content-type': 'application/json' }
const pause = (milliseconds: number): Promise<void> =>
  new Promise((resolve) => setTimeout(resolve, milliseconds))

/** Whole replies, or 40 events of a stream. */
export function answerAsLlm(llm: Backend): void {
  llm.answer((asked, response) => {
    if (!asked.body.includes('"stream":true'))
      return answerJson(completion('hello, a secret'))(asked, response)
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    let left = 40
    const timer = setInterval(() => {
      left -= 1
      response.write(`data: ${JSON.stringify(delta({ content: `word ${String(left)} ` }))}\n\n`)
      if (left > 0) return
      clearInterval(timer)
      response.end('data: [DONE]\n\n')
    }, 10)
    response.on('close', () => clearInterval(timer))
  })
}

/** Resolves when all that was begun has ended. */
export async function runTraffic(soak: Soak): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: 64 })
  const kinds: readonly (readonly [count: number, once: (soak: Soak) => Promise<unknown>])[] = [
    [4, (each) => checkOnce(each, agent)],
    [4, (each) => chatOnce(each, agent)],
    [4, (each) => streamOnce(each, agent)],
    [4, leaveStream],
    [2, resetMany],
    [1, (each) => standStill(each, true)],
    [1, (each) => standStill(each, false)],
  ]
  await Promise.all(
    kinds.flatMap(([count, turn]) => Array.from({ length: count }, () => repeat(soak, turn))),
  )
  agent.destroy()
  await Promise.all(soak.standing)
}

async function repeat(soak: Soak, turn: (soak: Soak) => Promise<unknown>): Promise<void> {
  while (!soak.stop.aborted) await turn(soak)
}

function count({ counts }: Soak, outcome: string): void {
  counts[outcome] = (counts[outcome] ?? 0) + 1
}

/** A known token, one that nobody signed, none. */
async function checkOnce(soak: Soak, agent: Agent): Promise<void> {
  const token = soak.tokens[Math.floor(Math.random() * soak.tokens.length)] ?? ''
  const forged = `${token.slice(0, -20)}${Math.random().toString(36).slice(2).padEnd(20, 'A').slice(0, 20)}`
  for (const [kind, value] of Object.entries({ known: token, forged })) {
    const authorization = `Bearer ${value}`
    const status = await statusOf(`${soak.origin}/api`, { agent, headers: { authorization } }, '')
    count(soak, `check, ${kind}: ${status}`)
  }
  count(soak, `check, none: ${await statusOf(`${soak.origin}/api`, { agent }, '')}`)
}

async function chatOnce(soak: Soak, agent: Agent): Promise<void> {
  const options = { agent, method: 'POST', headers: JSON_TYPE }
  for (const text of ['hello', 'a secret', 'block'])
    count(soak, `chat, ${text}: ${await statusOf(soak.origin + CHAT, options, chat(text))}`)
}

const STREAM = chat('hello', { stream: true })

async function streamOnce(soak: Soak, agent: Agent): Promise<void> {
  const options = { agent, method: 'POST', headers: JSON_TYPE }
  count(soak, `stream: ${await statusOf(soak.origin + CHAT, options, STREAM)}`)
}

/** A client that goes in the middle of a stream: Envoy resets ours. */
async function leaveStream(soak: Soak): Promise<void> {
  await new Promise<void>((resolve) => {
    const outgoing = request(
      soak.origin + CHAT,
      { agent: false, method: 'POST', headers: JSON_TYPE },
      (incoming) => {
        count(soak, `left: ${String(incoming.statusCode)}`)
        incoming.on('error', () => {})
        incoming.once('data', () => outgoing.destroy())
        incoming.resume()
      },
    )
    outgoing.on('error', () => {})
    outgoing.on('close', resolve)
    outgoing.end(STREAM)
  })
}

/** A connection of 100 calls that are reset, with or without a part of a message. */
async function resetMany(soak: Soak): Promise<void> {
  const session = connectHttp2(`http://127.0.0.1:${String(soak.grpcPort)}`)
  session.on('error', () => {})
  for (let at = 0; at < 100 && !session.closed; at++) {
    const stream = session.request({
      ':method': 'POST',
      ':path':
        at % 2 === 0
          ? '/envoy.service.auth.v3.Authorization/Check'
          : '/envoy.service.ext_proc.v3.ExternalProcessor/Process',
      'content-type': 'application/grpc',
      'x-gatehouse-route': 'default/both/0',
    })
    stream.on('error', () => {})
    stream.write(Buffer.from([0, 0, 0, 1, 0, 10, 20]))
    await new Promise((resolve) => setImmediate(resolve))
    stream.close(constants.NGHTTP2_CANCEL)
  }
  count(soak, 'connection of resets')
  session.close()
  await pause(20)
  session.destroy()
}

const PROCESS = [
  [':method', 'POST'],
  [':scheme', 'http'],
  [':path', '/envoy.service.ext_proc.v3.ExternalProcessor/Process'],
  ['content-type', 'application/grpc'],
] as const

/** A peer that opens a stream, or says nothing at all, and then answers no PING either: Gatehouse has to end it. */
async function standStill(soak: Soak, speaks: boolean): Promise<void> {
  const socket = connect(soak.grpcPort, '127.0.0.1')
  socket.on('error', () => {})
  if (speaks) socket.write(Buffer.concat([PREFACE, settings(), headers(1, { fields: PROCESS })]))
  const ended = once(socket.resume(), 'close').then(() => {
    count(soak, `half-open peer, ${speaks ? 'silent' : 'mute'}: ended`)
    soak.standing.delete(ended)
  })
  soak.standing.add(ended)
  await pause(1_000)
}
