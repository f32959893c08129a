// Sends requests over several keep-alive connections, and records the outcome of each.

import { Agent, request, type RequestOptions } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'

export interface Outcome {
  /** Index from 0. A connection stays with one of Envoy's workers, which apply a change one after another. */
  readonly connection: number
  /** 0 if the connection broke or was refused before a complete answer arrived. */
  readonly status: number
  readonly body: string
  /** Why no status was received. */
  readonly error?: string
}

export interface Traffic {
  /** The outcomes so far. */
  readonly outcomes: readonly Outcome[]
  /** Stops after the requests in flight. Resolves to all outcomes. */
  stop(): Promise<readonly Outcome[]>
}

export interface TrafficOptions {
  readonly url: string
  /** Default GET. */
  readonly method?: string
  readonly headers?: Record<string, string>
  /** Default 2. */
  readonly connections?: number
  /**
   * Milliseconds between the requests of a connection. Default 0: what may be open for a moment only is seen by requests
   * without pauses.
   */
  readonly pauseMs?: number
}

export function startTraffic(options: TrafficOptions): Traffic {
  const { url, method = 'GET', headers = {}, connections = 2, pauseMs = 0 } = options
  const outcomes: Outcome[] = []
  let stopped = false
  const run = async (connection: number): Promise<void> => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    while (!stopped) {
      outcomes.push({ connection, ...(await once(url, { method, headers, agent })) })
      if (pauseMs > 0) await delay(pauseMs)
    }
    agent.destroy()
  }
  const runs = Array.from({ length: connections }, (_, index) => run(index))
  return {
    outcomes,
    stop: async () => {
      stopped = true
      await Promise.all(runs)
      return outcomes
    },
  }
}

const once = (url: string, options: RequestOptions): Promise<Omit<Outcome, 'connection'>> =>
  new Promise((resolve) => {
    const broken = (error: Error): void => resolve({ status: 0, body: '', error: error.message })
    const outgoing = request(url, options, (incoming) => {
      let body = ''
      incoming.setEncoding('utf8').on('data', (text: string) => (body += text))
      incoming.on('end', () => resolve({ status: incoming.statusCode ?? 0, body }))
      incoming.on('error', broken)
    })
    outgoing.on('error', broken)
    outgoing.end()
  })

/** Counts the outcomes by status. */
export function statusesOf(outcomes: readonly Outcome[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const { status, error } of outcomes) {
    const name = error ?? String(status)
    counts[name] = (counts[name] ?? 0) + 1
  }
  return counts
}
