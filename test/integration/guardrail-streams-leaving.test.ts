// Streamed replies interrupted by the client, the LLM or Gatehouse: nothing unseen passes, and nothing stays open.

import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { type ClientRequest, type IncomingMessage, request, type ServerResponse } from 'node:http'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { eventually } from '../../testing/eventually.js'
import { chat, type GuardedStack, startGuardedStack } from '../support/guardrails.js'
import { delta, nextReply } from '../support/streaming-llm.js'

let stack: GuardedStack

beforeAll(async () => {
  stack = await startGuardedStack([], { own: true })
})
afterAll(() => stack.close())
beforeEach(() => stack.reset())

interface Client {
  readonly outgoing: ClientRequest
  readonly response: IncomingMessage
  text(): string
  /** How the reply ended: whole, or broken. */
  readonly end: Promise<'whole' | 'broken'>
}

async function connect(to = stack): Promise<Client> {
  const outgoing = request(`${to.origin}/both/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    agent: false,
  })
  outgoing.on('error', () => {})
  outgoing.end(chat('x', { stream: true }))
  const [response] = (await once(outgoing, 'response')) as [IncomingMessage]
  let text = ''
  response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
  response.on('error', () => {})
  const end = new Promise<'whole' | 'broken'>((resolve) => {
    response.on('close', () => resolve(response.complete ? 'whole' : 'broken'))
  })
  return { outgoing, response, text: () => text, end }
}

/** Streams that Envoy has open with Gatehouse's ext_proc. */
async function openStreams(): Promise<number> {
  const stats = await (await fetch(`${stack.envoyAdmin}/stats?filter=rq_active`)).text()
  const counts = [...stats.matchAll(/^cluster\.(\S*proc\S*)\.upstream_rq_active: (\d+)$/gm)]
  expect(counts.length).toBeGreaterThan(0)
  return counts.reduce((sum, [, , count]) => sum + Number(count), 0)
}

/** A webhook that thinks as long as the test lives. */
function holdWebhook(of = stack): ServerResponse[] {
  const asked: ServerResponse[] = []
  of.webhook.answer((incoming, response) => {
    if (incoming.url === '/request') response.end('{"action":{}}')
    else asked.push(response)
  })
  return asked
}

test('the client leaves: the LLM and the webhook are left too, and no stream stays open', async () => {
  const asked = holdWebhook()
  const reply = nextReply(stack.llm)
  const client = await connect()
  const llm = await reply
  llm.say('word '.repeat(400))
  await eventually(() => expect(asked).toHaveLength(1))
  expect(await openStreams()).toBe(1)
  const webhookLeft = once(asked[0] as ServerResponse, 'close')
  client.outgoing.destroy()
  await Promise.all([llm.closed, webhookLeft])
  await eventually(async () => expect(await openStreams()).toBe(0))
})

test('the LLM leaves: the client sees a broken reply with nothing unseen in it', async () => {
  const asked = holdWebhook()
  const reply = nextReply(stack.llm)
  const client = await connect()
  const llm = await reply
  llm.event(delta({ role: 'assistant', content: '' }))
  llm.say('word '.repeat(400))
  await eventually(() => expect(asked).toHaveLength(1))
  const webhookLeft = once(asked[0] as ServerResponse, 'close')
  llm.destroy()
  expect(await client.end).toBe('broken')
  expect(client.text()).not.toContain('word')
  await webhookLeft
  await eventually(async () => expect(await openStreams()).toBe(0))
})

test('a reject: Envoy disconnects from an LLM that keeps sending', async () => {
  const reply = nextReply(stack.llm)
  const client = await connect()
  const llm = await reply
  llm.say(`block ${'word '.repeat(400)}`)
  expect(await client.end).toBe('whole')
  expect(client.text()).toContain('"content_filter"')
  await llm.closed
  await eventually(async () => expect(await openStreams()).toBe(0))
})

/** Resident, in MiB. */
const memoryOf = (pid = 0): number =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${String(pid)}/status`, 'utf8'))?.[1]) / 1024

test('a client that does not read stops the LLM, and costs Gatehouse no memory', async () => {
  const reply = nextReply(stack.llm)
  const client = await connect()
  client.response.pause()
  const { response, closed } = await reply
  const before = memoryOf(stack.child.pid)
  const chunk = `data: ${JSON.stringify(delta({ content: 'some words '.repeat(200) }))}\n\n`
  const most = 1024 * 1024 * 1024
  let sent = 0
  const write = (): void => {
    while (sent < most && response.write(chunk)) sent += chunk.length
  }
  response.on('drain', write)
  write()
  let [last, times] = [0, 0]
  await eventually(() => {
    times = sent === last ? times + 1 : 0
    last = sent
    expect(times).toBeGreaterThan(50)
  }, 60_000)
  expect(response.writableNeedDrain).toBe(true)
  expect(sent).toBeLessThan(most)
  // What a process takes and gives back by itself is tens of MiB; what would be held is a GiB.
  expect(memoryOf(stack.child.pid) - before).toBeLessThan(300)
  client.response.resume()
  await eventually(() => expect(sent).toBeGreaterThan(last), 60_000)
  client.outgoing.destroy()
  await closed
})

test.each(['SIGTERM', 'SIGKILL'] as const)(
  '%s of Gatehouse: the client sees a broken reply with nothing unseen in it',
  async (signal) => {
    const other = await startGuardedStack([], {
      flags: ['--drain-timeout', '100ms'],
    })
    try {
      other.reset()
      const asked = holdWebhook(other)
      const reply = nextReply(other.llm)
      const client = await connect(other)
      const llm = await reply
      llm.event(delta({ role: 'assistant', content: '' }))
      llm.say('word '.repeat(400))
      await eventually(() => expect(asked).toHaveLength(1))
      await other.stop(signal)
      expect(await client.end).toBe('broken')
      expect(client.text()).not.toContain('word')
    } finally {
      await other.close()
    }
  },
)
