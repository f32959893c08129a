// What happens to a guarded request that is under way while its route, or its Gateway, is removed.

import { Agent, request, type ServerResponse } from 'node:http'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { eventually } from '../../testing/eventually.js'
import { freePort } from '../../testing/ports.js'
import {
  answerJson,
  both,
  chat,
  completion,
  guardedRoute,
  type GuardedStack,
  hook,
  startGuardedStack,
} from '../support/guardrails.js'
import { send } from '../support/http.js'
import { openGuardedStream } from '../support/open-stream.js'
import { gateway, httpRoute, proxyBackend, rule } from '../support/resources.js'

let stack: GuardedStack
let others = 0

beforeEach(async () => {
  stack = await startGuardedStack()
  stack.reset()
  const [, policy = {}] = guardedRoute('/going', both(hook('guard')))
  // Nothing else leads to this backend: its cluster goes with the route.
  await stack.write(
    'going.yaml',
    httpRoute('going', { rules: [rule('/going', 'going')] }),
    proxyBackend('going', stack.llm),
    policy,
  )
  await eventually(async () => expect((await ask()).status).toBe(200))
})
afterEach(() => stack.close())

const ask = () => stack.post('/going', chat('hello'))

/** Resolves when Envoy works with everything that was published before: with a route that comes now, too. */
async function settled(): Promise<void> {
  others += 1
  const name = `other-${String(others)}`
  await stack.write(`${name}.yaml`, httpRoute(name, { rules: [rule(`/${name}`, 'llm')] }))
  await eventually(async () => expect((await send(stack.origin, `/${name}`)).status).toBe(200))
}

async function remove(): Promise<void> {
  await stack.remove('going.yaml')
  await eventually(async () => expect((await ask()).status).toBe(404))
  await settled()
}

async function uptime(): Promise<number> {
  const answer = await fetch(`${stack.envoyAdmin}/server_info`)
  const info = (await answer.json()) as { readonly uptime_current_epoch: string }
  return Number.parseInt(info.uptime_current_epoch, 10)
}

test('a prompt that a webhook looks at while its route goes reaches the LLM', async () => {
  const held = new Promise<ServerResponse>((resolve) => {
    stack.webhook.answer((incoming, response) => {
      if (incoming.url === '/request') resolve(response)
      else answerJson({ action: {} })(incoming, response)
    })
  })
  const reply = ask()
  const verdict = await held
  stack.webhook.answer(answerJson({ action: {} }))
  await remove()
  answerJson({ action: {} })(undefined, verdict)
  expect(await reply).toMatchObject({ status: 200, body: JSON.stringify(completion('hello')) })
})

const clusters = async () => (await fetch(`${stack.envoyAdmin}/clusters`)).text()

test('a stream goes on when its route and its cluster go, guarded to its end', async () => {
  const stream = await openGuardedStream(stack.llm, `${stack.origin}/going`)
  stack.llm.answer(answerJson(completion('hello')))
  expect(await clusters()).toContain('default/going')
  await remove()
  // It lingers for a while.
  await eventually(async () => expect(await clusters()).not.toContain('default/going'), 60_000)
  await stream.expectGuardedEnd()
})

test('a stream goes on when its Gateway goes, guarded to its end, in the same Envoy', async () => {
  const port = await freePort()
  const stream = await openGuardedStream(stack.llm, `${stack.origin}/going`)
  stack.llm.answer(answerJson(completion('hello')))
  const before = await uptime()
  await stack.write('other.yaml', gateway([port], 'other'))
  await stack.write('resources.yaml')
  await eventually(() => expect(send(stack.origin, '/going')).rejects.toThrow())
  await stream.expectGuardedEnd()
  expect(await uptime()).toBeGreaterThanOrEqual(before)
})

/** Resolves to the status of a request over the one connection of the agent, and the local port of that. */
const askOver = (agent: Agent, port: number): Promise<{ status?: number; from?: number }> =>
  new Promise((resolve, reject) => {
    const options = { agent, port, host: '127.0.0.1', path: '/' }
    request(options, (answer) => {
      const from = answer.socket.localPort
      answer.resume().on('end', () => resolve({ status: answer.statusCode, from }))
    })
      .on('error', reject)
      .end()
  })

test('a connection that outlives its Gateway is not served by its routes for long', async () => {
  const port = await freePort()
  await stack.write(
    'leaving.yaml',
    gateway([port], 'leaving'),
    httpRoute('leaving', { parentRefs: [{ name: 'leaving' }], rules: [rule('/', 'llm')] }),
  )
  const agents = [1, 2, 3].map(() => new Agent({ keepAlive: true, maxSockets: 1 }))
  const opened = await eventually(async () => {
    const answers = await Promise.all(agents.map((agent) => askOver(agent, port)))
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200])
    return answers
  })
  await stack.remove('leaving.yaml')
  const routes = async () =>
    (await fetch(`${stack.envoyAdmin}/config_dump?resource=dynamic_route_configs`)).text()
  await eventually(async () => expect(await routes()).not.toContain('default/leaving/0/0'), 60_000)
  // While it drains, Envoy closes a few connections.
  const answers = await Promise.allSettled(agents.map((agent) => askOver(agent, port)))
  const kept = answers.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []))
  expect(kept.length).toBeGreaterThan(0)
  for (const { status, from } of kept) {
    expect(status).toBe(404)
    expect(opened.map((one) => one.from)).toContain(from)
  }
  for (const agent of agents) agent.destroy()
})
