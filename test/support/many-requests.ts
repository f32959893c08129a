// Sends one request many times over a few keep-alive connections, and counts the statuses.

import { Agent, request, type RequestOptions } from 'node:http'

export interface ManyRequests {
  readonly url: string
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
  readonly count: number
  readonly connections: number
}

/** Resolves to the number of answers by status (or error message). */
export async function requestMany(many: ManyRequests): Promise<Record<string, number>> {
  const { url, method = 'GET', headers = {}, body = '', count, connections } = many
  const agent = new Agent({ keepAlive: true, maxSockets: connections })
  const counts: Record<string, number> = {}
  let left = count
  const run = async (): Promise<void> => {
    while (left > 0) {
      left -= 1
      const outcome = await statusOf(url, { method, headers, agent }, body)
      counts[outcome] = (counts[outcome] ?? 0) + 1
    }
  }
  await Promise.all(Array.from({ length: connections }, run))
  agent.destroy()
  return counts
}

/** Resolves to the status of one request, or its error message. */
export const statusOf = (url: string, options: RequestOptions, body: string): Promise<string> =>
  new Promise((resolve) => {
    const broken = (error: Error): void => resolve(error.message)
    const outgoing = request(url, options, (incoming) => {
      incoming.on('end', () => resolve(String(incoming.statusCode)))
      incoming.on('error', broken)
      incoming.resume()
    })
    outgoing.on('error', broken)
    outgoing.end(body)
  })
