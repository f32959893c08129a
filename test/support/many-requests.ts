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

/** Resolves to the number of answers by status (or error message); those of an error by status and body, which tell whose it is. */
export async function requestMany(many: ManyRequests): Promise<Record<string, number>> {
  const { url, method = 'GET', headers = {}, body = '', count, connections } = many
  const agent = new Agent({ keepAlive: true, maxSockets: connections })
  const counts: Record<string, number> = {}
  let left = count
  const run = async (): Promise<void> => {
    while (left > 0) {
      left -= 1
      const outcome = await outcomeOf(url, { method, headers, agent }, body)
      counts[outcome] = (counts[outcome] ?? 0) + 1
    }
  }
  await Promise.all(Array.from({ length: connections }, run))
  agent.destroy()
  return counts
}

/** Resolves to the status of one request, or its error message. */
export const statusOf = async (
  url: string,
  options: RequestOptions,
  body: string,
): Promise<string> => (await answerTo(url, options, body)).status

async function outcomeOf(url: string, options: RequestOptions, body: string): Promise<string> {
  const { status, text } = await answerTo(url, options, body)
  return status.startsWith('5') ? `${status} ${text}` : status
}

const answerTo = (
  url: string,
  options: RequestOptions,
  body: string,
): Promise<{ readonly status: string; readonly text: string }> =>
  new Promise((resolve) => {
    const broken = (error: Error): void => resolve({ status: error.message, text: '' })
    const outgoing = request(url, options, (incoming) => {
      let text = ''
      incoming.setEncoding('utf8').on('data', (part: string) => (text += part))
      incoming.on('end', () => resolve({ status: String(incoming.statusCode), text }))
      incoming.on('error', broken)
    })
    outgoing.on('error', broken)
    outgoing.end(body)
  })
