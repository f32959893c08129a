// --workers: several processes check and process like one; one that ends is replaced, and lets nothing through.

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { eventually } from '../../testing/eventually.js'
import { freePort } from '../../testing/ports.js'
import { startBackend } from '../support/backend.js'
import { startDocumentServer } from '../support/document-server.js'
import {
  answerJson,
  both,
  chat,
  completion,
  guardedRoute,
  type GuardedStack,
  hook,
  service,
  startGuardedStack,
} from '../support/guardrails.js'
import { bearer, initialize, send } from '../support/http.js'
import { isGone } from '../support/processes.js'
import { ISSUER, jwt, protectedRoute, sign } from '../support/protected-stack.js'
import { allow, proxyBackend, remoteJwks, toYaml } from '../support/resources.js'
import { keySet, newKey } from '../support/tokens.js'
import { workersOf } from '../support/workers.js'

const [key, stranger, late] = [await newKey('one'), await newKey('two'), await newKey('late')]
const idp = await startDocumentServer()
const backend = await startBackend()
const gonePort = await freePort()

const routes = (): readonly object[] => [
  proxyBackend('idp', idp),
  proxyBackend('backend', backend),
  ...protectedRoute('api', { jwtAuthentication: jwt([key]) }),
  ...protectedRoute('ruled', {
    jwtAuthentication: jwt([key]),
    authorization: allow('jwt.role == "admin" && request.method == "GET"'),
  }),
  ...protectedRoute('fetched', {
    jwtAuthentication: {
      providers: [{ issuer: ISSUER, jwks: remoteJwks('idp', idp.port, '/keys') }],
    },
  }),
  ...guardedRoute('/requests', { request: [hook('guard')] }),
  ...guardedRoute('/replies', { response: [hook('guard')] }),
  ...service('gone', gonePort),
  ...guardedRoute('/open', both(hook('gone', { failureMode: 'FailOpen' }))),
]

const start = (workers: number): Promise<GuardedStack> =>
  startGuardedStack(routes(), { flags: ['--workers', String(workers)] })

const stacks = new Map<number, GuardedStack>()
const stackOf = (workers: number): GuardedStack => stacks.get(workers) as GuardedStack

beforeAll(async () => {
  idp.serve('/keys', keySet(key))
  for (const workers of [1, 4]) stacks.set(workers, await start(workers))
  for (const stack of stacks.values()) stack.reset()
})

afterAll(async () => {
  await Promise.all([...stacks.values()].map((stack) => stack.close()))
  await Promise.all([idp.close(), backend.close()])
})

/** The parts of an answer that are a decision. */
async function outcomes(stack: GuardedStack): Promise<readonly unknown[]> {
  const tokens = [
    undefined,
    'garbage',
    await sign(key, { role: 'admin' }),
    await sign(key, { role: 'user' }),
    await sign(key, { exp: 1_000_000_000 }),
    await sign(stranger, { role: 'admin' }),
  ]
  const calls = ['/api', '/ruled', '/fetched', '/ruled/../api', '/unknown'].flatMap((path) =>
    ['GET', 'POST'].flatMap((method) =>
      tokens.map(
        (token) => () =>
          send(stack.origin, path, { method, headers: token === undefined ? {} : bearer(token) }),
      ),
    ),
  )
  const texts = ['hi', 'a secret', 'block', 'secret '.repeat(50)]
  const chats = ['/both', '/requests', '/replies', '/open'].flatMap((path) =>
    [...texts.map((text) => chat(text)), '{', '[]', initialize.body].map(
      (body) => () => stack.post(path, body),
    ),
  )
  stack.llm.answer((request, response) =>
    answerJson(completion(`it said ${request.body.includes('secret') ? 'a secret' : 'hi'}`))(
      request,
      response,
    ),
  )
  const answers = []
  for (const call of [...calls, ...chats]) answers.push(await call())
  return answers.map(({ status, headers, body }) => [
    status,
    headers['www-authenticate']?.replaceAll(stack.origin, ''),
    body.replaceAll(stack.origin, ''),
  ])
}

test('one and four decide alike', async () => {
  const [one, four] = await Promise.all([outcomes(stackOf(1)), outcomes(stackOf(4))])
  expect(new Set(one.map((outcome) => (outcome as [number])[0]))).toEqual(
    new Set([200, 400, 401, 403, 404]),
  )
  expect(four).toEqual(one)
})

test('one is this process alone, four are four beside it', () => {
  expect([workersOf(stackOf(1)).length, workersOf(stackOf(4)).length]).toEqual([0, 4])
})

/** Number of refused checks of /api. */
async function counted(stack: GuardedStack): Promise<number> {
  const found = /^gatehouse_checks_total\{route="default\/api".*reason="no-token"\} (\d+)$/m.exec(
    await stack.metrics(),
  )
  return Number(found?.[1] ?? 0)
}

describe.each([1, 4])('with %i', (workers) => {
  test('metrics count what all of them do, on each of them', async () => {
    const stack = stackOf(workers)
    const before = await counted(stack)
    await Promise.all(Array.from({ length: 40 }, () => send(stack.origin, '/api')))
    expect(await counted(stack)).toBe(before + 40)
  })

  test('unknown keys are fetched once for all workers', async () => {
    const stack = stackOf(workers)
    const fetches = (): number => idp.requests.filter(({ path }) => path === '/keys').length
    const before = fetches()
    const start = performance.now()
    const answers = await Promise.all(
      Array.from({ length: 60 }, async (_, index) => {
        const headers = bearer(await sign({ ...stranger, kid: `made-up-${String(index)}` }))
        return (await send(stack.origin, '/fetched', { headers })).status
      }),
    )
    // On a busy machine the fetch takes longer than a check waits for it.
    expect(answers.filter((status) => status !== 401 && status !== 503)).toEqual([])
    expect(answers).toContain(401)
    const seconds = Math.ceil((performance.now() - start) / 1000)
    expect(fetches() - before).toBeLessThanOrEqual(seconds + 1)
  })

  test('a key that has come is known to all of them', async () => {
    const stack = stackOf(workers)
    idp.serve('/keys', keySet(key, late))
    const headers = bearer(await sign(late))
    const ask = async () => (await send(stack.origin, '/fetched', { headers })).status
    // A check that waits too long for a fetch is answered 503, to be tried again.
    await eventually(async () => expect(await ask()).toBe(200))
    const statuses = await Promise.all(Array.from({ length: 20 }, ask))
    expect(new Set(statuses)).toEqual(new Set([200]))
    idp.serve('/keys', keySet(key))
  })
})

describe('a worker that is killed', () => {
  test('is replaced; what comes meanwhile is answered by others or refused, and nothing is lost of the counts', async () => {
    const stack = stackOf(4)
    const good = bearer(await sign(key))
    const before = workersOf(stack)
    const checks = await counted(stack)
    let asking = true
    const seen = { good: new Set<number>(), without: new Set<number>() }
    const clients = Array.from({ length: 8 }, async () => {
      while (asking) {
        seen.good.add((await send(stack.origin, '/api', { headers: good })).status)
        seen.without.add((await send(stack.origin, '/api')).status)
      }
    })
    for (const pid of before.slice(0, 3)) {
      process.kill(pid, 'SIGKILL')
      await eventually(() => {
        expect(isGone(pid)).toBe(true)
        expect(workersOf(stack)).toHaveLength(4)
      })
    }
    await eventually(async () => expect((await fetch(`${stack.admin}/readyz`)).status).toBe(200))
    asking = false
    await Promise.all(clients)
    for (const status of seen.good) expect([200, 503]).toContain(status)
    for (const status of seen.without) expect([401, 503]).toContain(status)
    expect(await counted(stack)).toBeGreaterThan(checks)
    expect(await stack.metrics()).toContain('gatehouse_worker_restarts_total 3')
    expect((await send(stack.origin, '/api', { headers: good })).status).toBe(200)
  })

  test('all at once: 503 until they are back', async () => {
    const stack = stackOf(4)
    for (const pid of workersOf(stack)) process.kill(pid, 'SIGKILL')
    expect([401, 503]).toContain((await send(stack.origin, '/api')).status)
    await eventually(async () => {
      expect((await fetch(`${stack.admin}/readyz`)).status).toBe(200)
      expect((await send(stack.origin, '/api')).status).toBe(401)
    })
  })
})

test('Envoy gets a new route when every worker has its policy', async () => {
  const stack = stackOf(4)
  const [still = 0] = workersOf(stack)
  process.kill(still, 'SIGSTOP')
  try {
    const document = toYaml(...protectedRoute('new', { jwtAuthentication: jwt([key]) }))
    writeFileSync(join(stack.folder, 'new.yaml'), document)
    await eventually(async () =>
      expect(await (await fetch(`${stack.admin}/readyz`)).text()).toMatch(
        /worker \d has not taken the last change yet/,
      ),
    )
    expect((await send(stack.origin, '/new')).status).toBe(404)
  } finally {
    process.kill(still, 'SIGCONT')
  }
  await eventually(async () =>
    expect((await send(stack.origin, '/new')).status, stack.log()).toBe(401),
  )
  const headers = bearer(await sign(key))
  expect((await send(stack.origin, '/new', { headers })).status).toBe(200)
})
