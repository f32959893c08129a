// Loads that make Gatehouse hold many bytes: bodies that never end, and prompts that wait for a slow webhook.

import { once } from 'node:events'
import { Agent, type ClientRequest, type IncomingMessage, request } from 'node:http'
import type { HeldServers } from './held-servers.js'

export interface Load {
  readonly port: number
  readonly servers: HeldServers
  readonly count: number
  readonly bytes: number
}

/** Number of answers of each kind. */
export type Answers = Readonly<Record<string, number>>

function open({ port }: Load, path: string, length: number): ClientRequest {
  const opened = request({
    host: '127.0.0.1',
    port,
    method: 'POST',
    path,
    agent: new Agent(),
    headers: { 'content-type': 'application/json', 'content-length': String(length) },
  })
  opened.on('error', () => {})
  return opened
}

async function answerOf(sent: ClientRequest): Promise<string> {
  const [response] = (await once(sent, 'response')) as [IncomingMessage]
  response.resume()
  const again = response.headers['retry-after']
  return `${String(response.statusCode)}${again === undefined ? '' : ` with Retry-After: ${again}`}`
}

function count(kinds: readonly string[]): Answers {
  const answers: Record<string, number> = {}
  for (const kind of kinds) answers[kind] = (answers[kind] ?? 0) + 1
  return answers
}

/** The longest that sending the bodies may take (less than --body-timeout), and how long they are then held. */
const MAX_SENDING_MS = 40_000
const HELD_MS = 5_000

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

/** Sends the first `load.bytes` of 10 MiB bodies, holds them for a while, then disconnects all clients. */
export async function unfinishedBodies(load: Load): Promise<{ readonly answers: Answers }> {
  const piece = Buffer.alloc(load.bytes, ' ')
  const answered: string[] = []
  const all = Array.from({ length: load.count }, () => {
    const sent = open(load, '/prompts', 10 * 1024 ** 2)
    const answer = answerOf(sent).then(
      (kind) => void answered.push(kind),
      () => {},
    )
    const written = new Promise<void>((resolve) => sent.write(piece, () => resolve()))
    return { sent, done: Promise.race([answer, written]) }
  })
  await Promise.race([Promise.all(all.map(({ done }) => done)), sleep(MAX_SENDING_MS)])
  await sleep(HELD_MS)
  for (const { sent } of all) sent.destroy()
  const held = load.count - answered.length
  return { answers: { ...count(answered), ...(held > 0 && { held }) } }
}

const chat = (bytes: number): string =>
  JSON.stringify({
    model: 'bench',
    messages: [{ role: 'user', content: 'a word '.repeat(bytes / 7) }],
  })

/** Sends all prompts at once and, meanwhile, requests whose replies the same webhook checks. */
export async function slowPrompts(load: Load): Promise<{ readonly answers: Answers }> {
  const body = chat(load.bytes)
  let isOver = false
  const prompts = Promise.all(
    Array.from({ length: load.count }, async () => {
      const sent = open(load, '/prompts', Buffer.byteLength(body))
      sent.end(body)
      return answerOf(sent).catch(() => 'a broken connection')
    }),
  ).finally(() => (isOver = true))
  const replies: string[] = []
  while (!isOver) {
    const short = chat(70)
    const sent = open(load, '/replies', Buffer.byteLength(short))
    sent.end(short)
    replies.push(await answerOf(sent).catch(() => 'a broken connection'))
    await sleep(100)
  }
  const ofReplies = Object.entries(count(replies)).map(([kind, n]) => [`replies ${kind}`, n])
  return { answers: { ...count(await prompts), ...(Object.fromEntries(ofReplies) as Answers) } }
}
