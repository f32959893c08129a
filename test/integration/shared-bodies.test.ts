// Clients that begin bodies on the guarded routes of one namespace and never end them: those of other namespaces are
// served meanwhile, and their own have what is left.

import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { eventually } from '../../testing/eventually.js'
import { type Backend, startBackend } from '../support/backend.js'
import { beginBodies } from '../support/begun-bodies.js'
import { answerJson, both, chat, completion, hook, sample, service } from '../support/guardrails.js'
import { bearer, send } from '../support/http.js'
import { jwt, sign } from '../support/protected-stack.js'
import {
  type Document,
  gatewayForAll,
  httpRoute,
  proxyBackend,
  proxyPolicy,
  rule,
} from '../support/resources.js'
import { type Stack, startStack } from '../support/stack.js'
import { newKey } from '../support/tokens.js'

const key = await newKey('one')
const MIB = 1024 * 1024
const ATTACK = { count: 40, bytes: MIB }
const FLAGS = ['--held-bytes', '24MiB', '--max-body-bytes', '1MiB', '--body-timeout', '600s']

let llm: Backend
let guard: Backend
let token: string

beforeAll(async () => {
  ;[llm, guard, token] = [await startBackend('llm'), await startBackend('guard'), await sign(key)]
  llm.answer(answerJson(completion('hello')))
  guard.answer(sample)
})
afterAll(() => Promise.all([llm.close(), guard.close()]))

/** Guarded routes of a namespace: /NAMESPACE/open, and /NAMESPACE/closed, which needs a token. */
const tenant = (namespace: string): readonly object[] =>
  [
    proxyBackend('llm', llm),
    ...service('guard', guard.port),
    ...['open', 'closed'].flatMap((name) => [
      httpRoute(name, {
        parentRefs: [{ name: 'gw', namespace: 'default' }],
        rules: [rule(`/${namespace}/${name}`, 'llm')],
      }),
      guarded(name, name === 'closed' ? { jwtAuthentication: jwt([key]) } : undefined),
    ]),
  ].map((document) => ({
    ...document,
    metadata: { ...(document as Document).metadata, namespace },
  }))

function guarded(name: string, traffic?: object): Document {
  const policy = proxyPolicy(name, name, traffic ?? {})
  const backend = { ai: { promptGuard: both(hook('guard')) } }
  return {
    ...policy,
    spec: { ...policy.spec, ...(traffic ? {} : { traffic: undefined }), backend },
  }
}

describe.each([1, 4])('with %i processes', (workers) => {
  let stack: Stack

  beforeAll(async () => {
    stack = await startStack({
      flags: ['--workers', String(workers), ...FLAGS],
      resources: (port) => [gatewayForAll(port), ...tenant('many'), ...tenant('few')],
    })
  })
  afterAll(() => stack.close())
  beforeEach(() => expect(held()).resolves.toBe(0))

  const held = async (): Promise<number> =>
    Number(/^gatehouse_held_bytes (\d+)/m.exec(await stack.metrics())?.[1])

  const post = async (path: string, headers = {}): Promise<number> => {
    const all = { 'content-type': 'application/json', ...headers }
    const body = chat('x'.repeat(10_000))
    return (await send(stack.origin, path, { method: 'POST', body, headers: all })).status
  }

  test.each([
    // An eighth of --held-bytes, and a half.
    ['without a token', '/many/open', false, 3],
    ['with a token', '/many/closed', true, 12],
  ])('%s: other namespaces are served', async (_, path, hasToken, most) => {
    const headers = hasToken ? bearer(token) : {}
    const statuses: number[] = []
    const given = { ...ATTACK, path, headers }
    const leave = beginBodies(stack.origin, given, (status) => statuses.push(status))
    await eventually(() => expect(statuses.length).toBeGreaterThanOrEqual(ATTACK.count - most - 1))
    expect(new Set(statuses)).toEqual(new Set([503]))
    expect(await post('/few/open')).toBe(200)
    expect(await post('/few/closed', bearer(token))).toBe(200)
    if (!hasToken) expect(await post('/many/closed', bearer(token))).toBe(200)
    leave()
    await eventually(async () => expect(await held()).toBe(0))
    expect(await post(path, headers)).toBe(200)
  })
})
