// The client of grpc-go (test/parties/go): one case a run, whose lines a test reads as they come.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { onTestFinished } from 'vitest'

/** A line of it: what happened, and what more is known of that. */
export interface GoEvent {
  readonly event: string
  readonly [field: string]: unknown
}

export interface GoClient {
  /** The next line; undefined: it has ended. @throws {Error} it failed, with what it said. */
  next(): Promise<GoEvent | undefined>
  /** All that come. @throws {Error} */
  rest(): Promise<readonly GoEvent[]>
  /** Lets it go on where it waits. */
  proceed(): void
}

export interface GoOptions {
  /** As a server says it: host:port, or unix:PATH. */
  readonly target: string
  /** Flags of the program: -ca, -cert, -key, -ping. */
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
