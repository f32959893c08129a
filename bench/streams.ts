// Streamed chat completions: when the first text comes and the last, and what a server holds while many are open.

import { connect, type Socket } from 'node:net'
import { chatRequest, SLOW_MODEL } from './chat.js'
import type { Target } from './measure.js'
import { median } from './median.js'
import { residentMemory } from './memory.js'

export interface StreamRow {
  readonly name: string
  /** Milliseconds from the request to the first text and to the end; medians. */
  readonly first: number
  readonly last: number
}

export interface MemoryRow {
  readonly name: string
  /** Megabytes (RSS) of the server behind the filter. */
  readonly idle: number
  readonly open: number
}

const STREAMS = 8
export const OPEN_STREAMS = 500

export async function measureStreams(name: string, { port }: Target): Promise<StreamRow> {
  const times: { first: number; last: number }[] = []
  for (let i = 0; i < STREAMS; i++) times.push(await oneStream(port))
  return {
    name,
    first: median(times.map(({ first }) => first)),
    last: median(times.map(({ last }) => last)),
  }
}

async function oneStream(port: number): Promise<{ first: number; last: number }> {
  const sent = performance.now()
  const stream = openStream(port, chatRequest({ stream: true }))
  await stream.says(TEXT)
  const first = performance.now() - sent
  await stream.says(END)
  stream.socket.destroy()
  return { first, last: performance.now() - sent }
}

/** serverPid must be there. */
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

/** The first text of a reply, and the last line of an event stream of OpenAI's. */
const TEXT = '"content":" word'
const END = 'data: [DONE]'

interface OpenStream {
  readonly socket: Socket
  /** Resolves when this has come. */
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
