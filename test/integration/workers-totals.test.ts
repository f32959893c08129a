// Settings that limit all workers together: webhook connections and bytes held for bodies. Tested with one and four
// workers.

import type { ServerResponse } from 'node:http'
import { request as httpRequest } from 'node:http'
import type { Socket } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { eventually } from '../../testing/eventually.js'
import {
  answerJson,
  chat,
  completion,
  guardedRoute,
  type GuardedStack,
  hook,
  startGuardedStack,
} from '../support/guardrails.js'
import { API_GROUP } from '../support/resources.js'

const limits = [
  {
    apiVersion: 'gateway.networking.k8s.io/v1',
    kind: 'GatewayClass',
    metadata: { name: 'gatehouse' },
    spec: {
      controllerName: `${API_GROUP}/gatehouse`,
      parametersRef: {
        group: API_GROUP,
        kind: 'ProxyParameters',
        name: 'limits',
        namespace: 'default',
      },
    },
  },
  {
    apiVersion: `${API_GROUP}/v1alpha1`,
    kind: 'ProxyParameters',
    metadata: { name: 'limits' },
    spec: { env: [{ name: 'GUARDRAIL_WEBHOOK_MAX_CONNECTIONS', value: '3' }] },
  },
  ...guardedRoute('/requests', { request: [hook('guard')] }),
]

const KB = 1024
const HELD = ['--held-bytes', '1536KiB', '--max-body-bytes', '512KiB', '--body-timeout', '600s']

describe.each([1, 4])('with %i', (workers) => {
  let stack: GuardedStack

  beforeAll(async () => {
    stack = await startGuardedStack(limits, { flags: ['--workers', String(workers), ...HELD] })
    stack.reset()
  })
  afterAll(() => stack.close())

  test('GUARDRAIL_WEBHOOK_MAX_CONNECTIONS are open at once, whoever asks; who waits is asked about later', async () => {
    const held: ServerResponse[] = []
    const open = new Set<Socket>()
    let most = 0
    stack.webhook.answer((_request, response) => {
      const { socket } = response
      if (socket !== null && !open.has(socket)) {
        open.add(socket)
        socket.once('close', () => open.delete(socket))
      }
      held.push(response)
      most = Math.max(most, held.length)
    })
    const TIMES = 40
    let answered = 0
    const answers = Promise.all(
      Array.from({ length: TIMES }, async () => {
        const { status } = await stack.post('/requests', chat('hi'))
        answered += 1
        return status
      }),
    )
    await eventually(() => expect(held).toHaveLength(3))
    while (answered < TIMES) {
      // The end of a connection may be seen here after the beginning of the one that follows it.
      await eventually(() => expect(open.size).toBeLessThanOrEqual(3))
      held.shift()?.end('{"action":{}}')
      await new Promise(setImmediate)
    }
    expect(new Set(await answers)).toEqual(new Set([200]))
    expect(most).toBe(3)
    stack.reset()
  })

  test('tokens of replies and streams are counted once, whoever guards them', async () => {
    const usage = { prompt_tokens: 10, completion_tokens: 3, total_tokens: 13 }
    stack.llm.answer(answerJson({ ...completion('hello'), usage }))
    const asked = () => stack.post('/both', chat('hi'), { connection: 'close' })
    const statuses = await Promise.all(Array.from({ length: 20 }, asked))
    stack.llm.answer((_request, response) => {
      const chunk = { object: 'chat.completion.chunk', model: 'm' }
      const choices = [{ index: 0, delta: { content: 'hello' } }]
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write(`data: ${JSON.stringify({ ...chunk, choices })}\n\n`)
      response.write(`data: ${JSON.stringify({ ...chunk, choices: [], usage })}\n\n`)
      response.end('data: [DONE]\n\n')
    })
    statuses.push(await asked(), await asked())
    stack.reset()
    expect(new Set(statuses.map(({ status }) => status))).toEqual(new Set([200]))
    const series = (await stack.metrics()).match(/^gatehouse_llm_tokens_total.*$/gm)
    expect(series?.toSorted()).toEqual([
      'gatehouse_llm_tokens_total{route="default/both",model="m",type="input"} 220',
      'gatehouse_llm_tokens_total{route="default/both",model="m",type="output"} 66',
    ])
  })

  test('models that a server makes up are 100 of a route and "other" in all', async () => {
    let asked = 0
    stack.llm.answer((request, response) => {
      const usage = { prompt_tokens: 1, completion_tokens: 0, total_tokens: 1 }
      const model = `made-up-${String(asked++)}`
      answerJson({ ...completion('hello'), model, usage })(request, response)
    })
    for (let batch = 0; batch < 16; batch++)
      await Promise.all(
        Array.from({ length: 10 }, () => stack.post('/both', chat('hi'), { connection: 'close' })),
      )
    stack.reset()
    const series = (await stack.metrics()).matchAll(
      /^gatehouse_llm_tokens_total\{.*model="([^"]*)",type="input"\} (\d+)$/gm,
    )
    const counts = new Map([...series].map(([, model = '', tokens]) => [model, Number(tokens)]))
    expect(counts.size).toBe(101)
    expect(counts.get('m')).toBe(220)
    expect([...counts.values()].reduce((total, tokens) => total + tokens, 0)).toBe(220 + 160)
  })

  const heldBytes = async (): Promise<number> =>
    Number(/^gatehouse_held_bytes (\d+)$/m.exec(await stack.metrics())?.[1])

  test('--held-bytes are held by all bodies together; beyond that 503', async () => {
    const before = await heldBytes()
    const open = async (): Promise<number> =>
      Number(/^gatehouse_open_streams\{type="guard"\} (\d+)$/m.exec(await stack.metrics())?.[1])
    await eventually(async () => expect(await open()).toBe(0))
    const requests = []
    const statuses: (number | undefined)[] = []
    for (let index = 0; index < 5; index++) {
      const request = httpRequest(`${stack.origin}/both/v1/chat/completions`, {
        method: 'POST',
        agent: false,
        headers: { 'content-type': 'application/json' },
      })
      request.on('error', () => {})
      request.on('response', ({ statusCode }) => statuses.push(statusCode))
      request.write(Buffer.alloc(450 * KB, ' '))
      requests.push(request)
      const fits = Math.min(3, index + 1)
      await eventually(async () => {
        expect(await heldBytes()).toBe(before + fits * 450 * KB)
        expect(statuses).toHaveLength(index + 1 - fits)
      })
    }
    expect(statuses).toEqual([503, 503])
    expect(await stack.metrics()).toContain('gatehouse_budget_reached_total{budget="held-bytes"} 2')
    await eventually(async () => expect(await open()).toBe(3))
    for (const request of requests) request.destroy()
    await eventually(async () => expect(await heldBytes()).toBe(before))
    await eventually(async () => expect(await open()).toBe(0))
  })
})
