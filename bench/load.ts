// HTTP/1.1 load over kept connections, one request at a time on each: how many, how fast. Every answer must be 200.

import { connect, type Socket } from 'node:net'

export interface LoadOptions {
  readonly port: number
  readonly connections: number
  readonly milliseconds: number
  /** The next request's bearer token; undefined: there are no more. */
  readonly nextToken: () => string | undefined
}

export interface LoadResult {
  readonly requests: number
  /** Milliseconds. */
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
  { port, nextToken }: LoadOptions,
  end: number,
  latencies: number[],
): Promise<void> {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true })
  const answers = readAnswers(socket)
  try {
    while (performance.now() < end) {
      const token = nextToken()
      if (token === undefined) return
      const sent = performance.now()
      socket.write(`GET /mcp HTTP/1.1\r\nhost: bench\r\nauthorization: Bearer ${token}\r\n\r\n`)
      const status = await answers.next()
      latencies.push(performance.now() - sent)
      if (status !== 200) throw new Error(`the answer was ${String(status)}, not 200`)
    }
  } finally {
    socket.destroy()
  }
}

/** The answers have a content-length of at most a few bytes and come one at a time. */
function readAnswers(socket: Socket): { next(): Promise<number> } {
  let text = ''
  let resolve: (status: number) => void = () => undefined
  let reject: (error: Error) => void = () => undefined
  socket.setEncoding('latin1')
  socket.on('data', (chunk: string) => {
    text += chunk
    const head = text.indexOf('\r\n\r\n')
    if (head === -1) return
    const length = Number(/content-length: (\d+)/i.exec(text)?.[1] ?? 0)
    if (text.length < head + 4 + length) return
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
