// Measures streamed chat completions: the time to the first text and to the end, CPU per token, and the memory of many
// open streams.

import { connect, type Socket } from 'node:net'
import type { STEADY_MODEL } from './chat.js'
import { chatRequest, EVENTS, SLOW_MODEL } from './chat.js'
import { cpuTime } from './cpu-time.js'
import type { Target } from './measure.js'
import { residentMemory } from './memory.js'

export interface StreamRow {
  readonly name: string
  /** Milliseconds from the request to the first text and to the end; one value per stream. */
  readonly first: readonly number[]
  readonly last: readonly number[]
}

export interface MemoryRow {
  readonly name: string
  /** Resident memory (RSS) of the server behind the filter, in megabytes: idle, and with all streams open. */
  readonly idle: number
  readonly open: number
}

/** CPU microseconds of the server per streamed token; one value per round. */
export interface TokenRow {
  readonly name: string
  readonly cpu: readonly number[]
}

/** Streams one by one, of which each value of a StreamRow is one. */
export const STREAMS = 8
const STREAMS_AT_ONCE = 32
export const OPEN_STREAMS = 500

/** @param model absent for the default model. */
export async function measureStreams(
  name: string,
  { port }: Target,
  model?: typeof STEADY_MODEL,
): Promise<StreamRow> {
  const times: { first: number; last: number }[] = []
  for (let i = 0; i < STREAMS; i++) times.push(await oneStream(port, model))
  return { name, first: times.map(({ first }) => first), last: times.map(({ last }) => last) }
}

/** Measures CPU per token; the variants take turns. Each target must have a serverPid. */
export async function measureTokens(
  variants: readonly { readonly name: string; readonly target: Target }[],
  rounds: number,
): Promise<readonly TokenRow[]> {
  const rows = variants.map(({ name, target }) => ({ name, target, cpu: [] as number[] }))
  for (let round = 0; round < rounds; round++)
    for (const { target, cpu } of round % 2 === 0 ? rows : rows.toReversed()) {
      const { port, serverPid = 0 } = target
      const before = cpuTime(serverPid)
      await Promise.all(Array.from({ length: STREAMS_AT_ONCE }, () => oneStream(port)))
      cpu.push((cpuTime(serverPid) - before) / (STREAMS_AT_ONCE * EVENTS))
    }
  return rows.map(({ name, cpu }) => ({ name, cpu }))
}

async function oneStream(port: number, model?: string): Promise<{ first: number; last: number }> {
  const sent = performance.now()
  const request = chatRequest({ stream: true, ...(model !== undefined && { model }) })
  const stream = openStream(port, request)
  await stream.says(TEXT)
  const first = performance.now() - sent
  await stream.says(END)
  stream.socket.destroy()
  return { first, last: performance.now() - sent }
}

/** Measures memory while many streams are open. The target must have a serverPid. */
export async function measureMemory(name: string, target: Target): Promise<MemoryRow> {
  const { port, serverPid = 0 } = target
  await oneStream(port)
  const idle = residentMemory(serverPid)
  const request = chatRequest({ stream: true, model: SLOW_MODEL })
  const streams = Array.from({ length: OPEN_STREAMS }, () => openStream(port, request))
  await Promise.all(streams.map((stream) => stream.says(TEXT)))
  const open = residentMemory(serverPid)
  for (const { socket } of streams) socket.destroy()
  return { name, idle, open }
}

/** Marks of the first text of a reply and of the last line of an OpenAI event stream. */
const TEXT = '"content":" word'
const END = 'data: [DONE]'

interface OpenStream {
  readonly socket: Socket
  /** Resolves when these words have arrived. */
  says(words: string): Promise<void>
}

function openStream(port: number, request: string): OpenStream {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true })
  let received = ''
  socket.setEncoding('latin1')
  socket.on('data', (chunk: string) => (received += chunk))
  socket.write(request)
  return {
    socket,
    says: (words) =>
      new Promise((resolve, reject) => {
        const look = (): void => {
          if (received.includes(words)) resolve()
        }
        socket.on('data', look)
        socket.on('error', reject)
        socket.on('close', () => reject(new Error(`closed after: ${received.slice(0, 200)}`)))
        look()
      }),
  }
}
