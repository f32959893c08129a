// Runs the grpc-go client (test/parties/go): one case per run, whose output lines a test reads as events.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { onTestFinished } from 'vitest'

/** One line of output: an event and its details. */
export interface GoEvent {
  readonly event: string
  readonly [field: string]: unknown
}

export interface GoClient {
  /** Resolves to the next line; undefined at the end. @throws {Error} if the client failed, with its message. */
  next(): Promise<GoEvent | undefined>
  /** Resolves to all remaining lines. @throws {Error} as next() does. */
  rest(): Promise<readonly GoEvent[]>
  /** Lets the client continue where it waits. */
  proceed(): void
}

export interface GoOptions {
  /** The server's address: host:port or unix:PATH. */
  readonly target: string
  /** Flags for the program: -ca, -cert, -key, -ping. */
  readonly flags?: readonly string[]
}

export function grpcGo(
  name: string,
  { target, flags = [] }: GoOptions,
  ...args: readonly string[]
): GoClient {
  const program = process.env['GATEHOUSE_TEST_GRPC_GO'] ?? 'grpc-go-client'
  const child = spawn(program, ['-target', target, ...flags, name, ...args])
  onTestFinished(() => void child.kill())
  const ended = once(child, 'close')
  let trouble = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => (trouble += text))
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const next = async (): Promise<GoEvent | undefined> => {
    const line = await lines.next()
    if (line.done !== true) return JSON.parse(line.value) as GoEvent
    const [code] = (await ended) as [number | null]
    if (code !== 0) throw new Error(`grpc-go, ${name}: ${trouble}`)
    return undefined
  }
  const rest = async (): Promise<readonly GoEvent[]> => {
    const event = await next()
    return event === undefined ? [] : [event, ...(await rest())]
  }
  return { next, rest, proceed: () => void child.stdin.write('\n') }
}
