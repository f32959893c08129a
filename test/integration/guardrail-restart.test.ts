// Gatehouse ends while a webhook is being asked: held bodies are finished in time or rejected, never passed on
// unchecked.

import { execFileSync } from 'node:child_process'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { startEnvoy } from '../../src/cli/run-envoy/child.js'
import { waitUntilLive } from '../../src/cli/run-envoy/wait-until-live.js'
import type { JsonObject } from '../../src/model/json.js'
import { eventually } from '../../testing/eventually.js'
import { freePort } from '../../testing/ports.js'
import { MAIN } from '../../testing/program.js'
import { type Backend, startBackend } from '../support/backend.js'
import { envoyPath } from '../support/envoy.js'
import { type Gatehouse, startGatehouse } from '../support/gatehouse.js'
import {
  answerJson,
  chat,
  completion,
  guardedBoth,
  type GuardedStack,
  sample,
  service,
  startGuardedStack,
} from '../support/guardrails.js'
import { type Answer, send } from '../support/http.js'
import { gateway, proxyBackend } from '../support/resources.js'

const PHASES = ['request', 'response'] as const
const quiet = { debug() {}, info() {}, warn() {}, error() {} }
const closers: (() => unknown)[] = []

let llm: Backend
let webhook: Backend
let port: number
let grpc: string

beforeEach(async () => {
  llm = await startBackend('llm')
  webhook = await startBackend('webhook')
  llm.answer(answerJson(completion('a secret reply')))
  webhook.answer(sample)
  port = await freePort()
  grpc = `127.0.0.1:${String(await freePort())}`
  closers.push(
    () => llm.close(),
    () => webhook.close(),
  )
})
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close()
})

async function serve(drainTimeout: string): Promise<Gatehouse> {
  const gatehouse = await startGatehouse({
    command: 'serve',
    flags: ['--grpc', grpc, '--listen-address', '127.0.0.1', '--drain-timeout', drainTimeout],
    resources: [
      gateway([port]),
      proxyBackend('llm', llm),
      ...service('guard', webhook.port),
      ...guardedBoth,
    ],
  })
  closers.push(() => gatehouse.close())
  return gatehouse
}

const post = (): Promise<Answer> =>
  send(`http://127.0.0.1:${String(port)}`, '/both/v1/chat/completions', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: chat('my secret'),
  })

/** An existing Envoy, which outlives Gatehouse; ready when a guarded request is answered. */
async function startOtherEnvoy(): Promise<void> {
  const adminPort = await freePort()
  const admin = `127.0.0.1:${String(adminPort)}`
  const args = [MAIN, 'bootstrap', '--grpc', grpc, '--envoy-admin', admin]
  const bootstrap = parse(execFileSync(process.execPath, args, { encoding: 'utf8' })) as JsonObject
  const child = await startEnvoy({
    envoyPath: envoyPath(),
    bootstrap,
    logger: quiet,
    concurrency: 1,
  })
  closers.push(() => child.stop())
  await waitUntilLive(child, { type: 'tcp', host: '127.0.0.1', port: adminPort }, 30_000)
  await works()
}

async function works(): Promise<void> {
  const masked = JSON.stringify(completion('a **** reply'))
  await eventually(async () => expect(await post()).toMatchObject({ status: 200, body: masked }))
  expect(llm.requests.every(({ body }) => body === chat('my ****'))).toBe(true)
  llm.requests.length = 0
}

/** A `gatehouse run` of its own that has answered a guarded request. */
async function ownRun(...flags: readonly string[]): Promise<GuardedStack> {
  const stack = await startGuardedStack([], { own: true, flags })
  closers.push(() => stack.close())
  stack.reset()
  await eventually(async () => expect((await stack.post('/both', chat('hi'))).status).toBe(200))
  stack.reset()
  return stack
}

/** Rejects with the answer if it comes before the webhook is asked. */
const askedBefore = (asked: Promise<void>, answer: Promise<unknown>): Promise<void> =>
  Promise.race([
    asked,
    answer.then((early) => {
      throw new Error(`the webhook was not asked: ${JSON.stringify(early)}`)
    }),
  ])

/** Makes the webhook wait in this phase; release lets it answer. */
function hold(at: Backend, phase: (typeof PHASES)[number]) {
  let release = () => {}
  const asked = new Promise<void>((resolve) => {
    at.answer((request, response) => {
      if (request.url !== `/${phase}`) return void sample(request, response)
      release = () => void sample(request, response)
      resolve()
    })
  })
  return { asked, release: () => release() }
}

describe.each(PHASES)('held in the %s phase', (phase) => {
  const expectNothingUnseen = (answer: Answer): void => {
    expect(answer).toMatchObject({ status: 503, headers: { 'retry-after': '1' } })
    expect(answer.body).not.toContain('secret')
    expect(llm.requests.map(({ body }) => body)).toEqual(
      phase === 'request' ? [] : [chat('my ****')],
    )
  }

  test('SIGTERM: the webhook is waited for, and its change is made', async () => {
    const gatehouse = await serve('20s')
    await startOtherEnvoy()
    const { asked, release } = hold(webhook, phase)
    const answer = post()
    await asked
    const stopped = gatehouse.stop()
    await eventually(async () =>
      expect((await fetch(`${gatehouse.admin}/readyz`)).status).toBe(503),
    )
    release()
    expect(await answer).toMatchObject({
      status: 200,
      body: JSON.stringify(completion('a **** reply')),
    })
    expect(llm.requests.map(({ body }) => body)).toEqual([chat('my ****')])
    expect(await stopped).toBe(0)
  })

  test('SIGTERM, and the webhook takes longer than the drain: 503', async () => {
    const gatehouse = await serve('1s')
    await startOtherEnvoy()
    const { asked } = hold(webhook, phase)
    const answer = post()
    await asked
    expect(await gatehouse.stop()).toBe(0)
    expectNothingUnseen(await answer)
  })

  test('SIGKILL: 503 then and while it is down; requests pass when it is back', async () => {
    const gatehouse = await serve('1s')
    await startOtherEnvoy()
    const { asked } = hold(webhook, phase)
    const answer = post()
    await asked
    await gatehouse.stop('SIGKILL')
    expectNothingUnseen(await answer)
    llm.requests.length = 0
    expect((await post()).status).toBe(503)
    expect(llm.requests).toEqual([])
    webhook.answer(sample)
    await serve('1s')
    await works()
  })

  test('of gatehouse run: SIGTERM lets it finish', async () => {
    const stack = await ownRun()
    const { asked, release } = hold(stack.webhook, phase)
    const answer = stack.post('/both', chat('my secret'))
    await askedBefore(asked, answer)
    const stopped = stack.stop()
    await eventually(async () => {
      expect(await send(stack.origin, '/').then(String, String)).toContain('ECONNREFUSED')
    })
    release()
    expect((await answer).status).toBe(200)
    expect(stack.llm.requests.map(({ body }) => body)).toEqual([chat('my ****')])
    expect(await stopped).toBe(0)
  })

  test('of gatehouse run, longer than the drain: an error, and nothing unseen', async () => {
    const stack = await ownRun('--drain-timeout', '1s')
    stack.llm.answer(answerJson(completion('a secret reply')))
    const { asked } = hold(stack.webhook, phase)
    const answer = stack.post('/both', chat('my secret')).then(
      ({ status, body }) => `${String(status)} ${body}`,
      (error: unknown) => String(error),
    )
    await asked
    await stack.stop()
    expect(await answer).toMatch(/^503 |ECONNRESET|socket hang up/)
    expect(await answer).not.toContain('secret')
    expect(stack.llm.requests.map(({ body }) => body)).toEqual(
      phase === 'request' ? [] : [chat('my ****')],
    )
  })
})
