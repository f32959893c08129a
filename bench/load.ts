// Generates HTTP/1.1 load over keep-alive connections, one request at a time on each, and measures throughput and
// latency. Every answer must be 200.

import { connect, type Socket } from 'node:net'

export interface LoadOptions {
  readonly port: number
  readonly connections: number
  readonly milliseconds: number
  /** Returns the next raw request; undefined when no more are left. */
  readonly nextRequest: () => string | undefined
  /** A port that gets each request as well, just before. Its time does not count. */
  readonly before?: number | undefined
}

export interface LoadResult {
  readonly requests: number
  /** Latency in milliseconds. */
  readonly p50: number
  readonly p99: number
  readonly requestsPerSecond: number
}

export async function load(options: LoadOptions): Promise<LoadResult> {
  const latencies: number[] = []
  const start = performance.now()
  const end = start + options.milliseconds
  const workers = Array.from({ length: options.connections }, () => work(options, end, latencies))
  await Promise.all(workers)
  const seconds = (performance.now() - start) / 1000
  latencies.sort((a, b) => a - b)
  const at = (share: number): number => latencies[Math.floor(latencies.length * share)] ?? NaN
  return {
    requests: latencies.length,
    p50: at(0.5),
    p99: at(0.99),
    requestsPerSecond: latencies.length / seconds,
  }
}

async function work(
  { port, nextRequest, before }: LoadOptions,
  end: number,
  latencies: number[],
): Promise<void> {
  const asked = openConnection(port)
  const first = before === undefined ? undefined : openConnection(before)
  try {
    while (performance.now() < end) {
      const request = nextRequest()
      if (request === undefined) return
      await first?.ask(request)
      const sent = performance.now()
      await asked.ask(request)
      latencies.push(performance.now() - sent)
    }
  } finally {
    first?.close()
    asked.close()
  }
}

interface Connection {
  /** Resolves when the whole answer is there. Rejects if it is not 200. */
  ask(request: string): Promise<void>
  close(): void
}

function openConnection(port: number): Connection {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true })
  const answers = readAnswers(socket)
  return {
    ask: async (request) => {
      socket.write(request)
      const status = await answers.next()
      if (status !== 200) throw new Error(`the answer was ${String(status)}, not 200`)
    },
    close: () => void socket.destroy(),
  }
}

/** Reads the status of each answer. Relies on answers being small and arriving one at a time. */
function readAnswers(socket: Socket): { next(): Promise<number> } {
  let text = ''
  let resolve: (status: number) => void = () => undefined
  let reject: (error: Error) => void = () => undefined
  socket.setEncoding('latin1')
  socket.on('data', (chunk: string) => {
    text += chunk
    if (!isWhole(text)) return
    const status = Number(text.slice(9, 12))
    text = ''
    resolve(status)
  })
  socket.on('error', (error) => reject(error))
  socket.on('close', () => reject(new Error('the connection was closed')))
  return {
    next: () =>
      new Promise((fulfil, fail) => {
        resolve = fulfil
        reject = fail
      }),
  }
}

/** Whether the answer is complete, by its content-length or its last chunk. */
function isWhole(text: string): boolean {
  const head = text.indexOf('\r\n\r\n')
  if (head === -1) return false
  const length = /content-length: (\d+)/i.exec(text.slice(0, head))?.[1]
  return length === undefined
    ? text.endsWith('\r\n0\r\n\r\n')
    : text.length >= head + 4 + Number(length)
}
