// A relay's cookies on routes of its host that no policy checks: browsers send them there too, and no backend gets them.

import { once } from 'node:events'
import { connect } from 'node:http2'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { eventually } from '../../testing/eventually.js'
import { type Backend, startBackend } from '../support/backend.js'
import {
  answerJson,
  both,
  chat,
  completion,
  guardedRoute,
  hook,
  sample,
  service,
} from '../support/guardrails.js'
import { send } from '../support/http.js'
import { jwt } from '../support/protected-stack.js'
import { type RelayStack, startRelayStack } from '../support/relay-stack.js'
import { httpRoute, inAudit, proxyBackend, proxyPolicy, rule } from '../support/resources.js'
import { newKey } from '../support/tokens.js'

const KINDS = ['/plain', '/guarded', '/limited', '/audited'] as const

/** As browsers send them over https, and over http to a loopback address. */
const OWN = ['__Host-gatehouse-browser=c2VjcmV0', 'gatehouse-login-eHg=c2VjcmV0']
const MIXED = `a=b; ${OWN.join('; ')}; c="d e"`

const key = await newKey('k1')

let backend: Backend
let webhook: Backend
let world: RelayStack

beforeAll(async () => {
  backend = await startBackend('llm')
  webhook = await startBackend('webhook')
  backend.answer(answerJson(completion('hello')))
  webhook.answer(sample)
  world = await startRelayStack({
    own: true,
    backend,
    more: [
      proxyBackend('llm', backend),
      ...service('guard', webhook.port),
      ...['plain', 'limited', 'audited'].map((name) =>
        httpRoute(name, { rules: [rule(`/${name}`, 'llm')] }),
      ),
      ...guardedRoute('/guarded', both(hook('guard'))),
      proxyPolicy('limited', 'limited', { rateLimit: { local: [{ requests: 500, per: '24h' }] } }),
      inAudit(proxyPolicy('audited', 'audited', { jwtAuthentication: jwt([key]) })),
      httpRoute('elsewhere', {
        hostnames: ['elsewhere.example'],
        rules: [rule('/elsewhere', 'llm')],
      }),
    ],
  })
})

afterAll(async () => {
  await world.close()
  await Promise.all([backend.close(), webhook.close()])
})

/** Returns the status, and Cookie as the backend got it; null: no request reached it. */
async function cookieAfter(path: string, headers: readonly string[]) {
  backend.requests.length = 0
  const answer = await send(world.stack.origin, `${path}/a%20b/v1/chat/completions`, {
    method: 'POST',
    headers: ['content-type', 'application/json', ...headers],
    body: chat('hi'),
  })
  const [request] = backend.requests
  return [answer.status, request === undefined ? null : request.headers['cookie']]
}

describe.each(KINDS)('%s', (path) => {
  test('gets only the cookies of others', async () => {
    expect(await cookieAfter(path, ['cookie', MIXED])).toEqual([200, 'a=b; c="d e"'])
  })

  test('gets no Cookie if there are no others', async () => {
    expect(await cookieAfter(path, ['cookie', OWN[0] ?? ''])).toEqual([200, undefined])
  })

  test('gets only the cookies of others from several fields', async () => {
    const fields = ['cookie', 'a=b', 'cookie', OWN.join('; '), 'cookie', 'c=d']
    expect(await cookieAfter(path, fields)).toEqual([200, 'a=b; c=d'])
  })

  test('gets cookies as sent if none is of a relay', async () => {
    expect(await cookieAfter(path, ['cookie', 'a=b;c=d;;e'])).toEqual([200, 'a=b;c=d;;e'])
  })
})

test('HTTP/2 splits cookies into fields', async () => {
  backend.requests.length = 0
  const session = connect(world.stack.origin)
  const stream = session.request({ ':path': '/plain', cookie: ['a=b', ...OWN, 'c=d'] })
  stream.resume()
  await once(stream, 'end')
  session.close()
  expect(backend.requests.map(({ headers }) => headers['cookie'])).toEqual(['a=b; c=d'])
})

test('a guard still rejects', async () => {
  const rejected = await send(world.stack.origin, '/guarded/v1/chat/completions', {
    method: 'POST',
    headers: { 'content-type': 'application/json', cookie: MIXED },
    body: chat('block'),
  })
  expect(rejected.status).toBe(403)
})

test('an audit still counts', async () => {
  const before = await audits()
  await send(world.stack.origin, '/audited', { headers: { cookie: MIXED } })
  await eventually(async () => expect(await audits()).toBe(before + 1))
})

/** How many requests the audited policy would have refused. */
async function audits(): Promise<number> {
  const series = /^gatehouse_checks_total\{route="default\/audited",.*mode="audit"\} (\d+)$/m
  return Number(series.exec(await world.stack.metrics())?.[1] ?? 0)
}

test('on another host nothing changes', async () => {
  const elsewhere = ['host', 'elsewhere.example', 'cookie', MIXED]
  expect(await cookieAfter('/elsewhere', elsewhere)).toEqual([200, MIXED])
})

test('requests with such a cookie are refused while Gatehouse does not answer, and no others', async () => {
  backend.requests.length = 0
  world.stack.child.kill('SIGSTOP')
  try {
    const answers = await Promise.all(
      ['/plain', '/limited', '/audited'].map((path) =>
        send(world.stack.origin, path, { headers: { cookie: MIXED } }),
      ),
    )
    expect(answers.map(({ status }) => status)).toEqual([503, 503, 503])
    expect(backend.requests).toEqual([])
    expect(await cookieAfter('/plain', ['cookie', 'a=b'])).toEqual([200, 'a=b'])
  } finally {
    world.stack.child.kill('SIGCONT')
  }
})
