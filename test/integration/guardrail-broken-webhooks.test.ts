// Guardrail webhooks with invalid answers of every kind, in both phases: the policy's failureMode decides, nothing
// passes unseen by mistake, and a recovered webhook is used again immediately.

import type { ServerResponse } from 'node:http'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import {
  answerJson,
  asked,
  chat,
  completion,
  guardedRoute,
  type GuardedStack,
  hook,
  type Reply,
  service,
  startGuardedStack,
} from '../support/guardrails.js'

const ORIGIN = 'https://app.example'
const PHASES = ['request', 'response'] as const
type Phase = (typeof PHASES)[number]

let stack: GuardedStack

beforeAll(async () => {
  stack = await startGuardedStack((webhook) => [
    // The same webhook, in a hurry.
    ...service('hurried', webhook.port, '500ms'),
    ...PHASES.flatMap((phase) =>
      ['guard', 'hurried'].flatMap((name) =>
        ['FailClosed', 'FailOpen'].flatMap((failureMode) => {
          const path = `/${phase}-${name}-${failureMode}`
          return guardedRoute(
            path,
            { [phase]: [hook(name, { failureMode })] },
            path.slice(1).toLowerCase(),
          )
        }),
      ),
    ),
  ])
})
afterAll(() => stack.close())
beforeEach(() => stack.reset())

/** An answer that depends on the phase: the role and the member that a modify must have. */
const act =
  (action: (own: (...entries: object[]) => object, role: string) => unknown): Reply =>
  ({ url }, response) => {
    const isRequest = url === '/request'
    const own = (...entries: object[]): object =>
      isRequest ? { messages: entries } : { choices: entries.map((message) => ({ message })) }
    answerJson({ action: action(own, isRequest ? 'user' : 'assistant') })(undefined, response)
  }

const raw =
  (...pieces: readonly string[]): Reply =>
  (_request, { socket }) => {
    for (const piece of pieces) socket?.write(piece)
    socket?.end()
  }

/** A byte of headers or body now and then, for ever. */
const trickle =
  (start: (response: ServerResponse) => void): Reply =>
  (_request, response) => {
    start(response)
    const timer = setInterval(() => response.socket?.write(' '), 50)
    response.on('close', () => clearInterval(timer))
  }

const ANSWERS: Readonly<Record<string, Reply>> = {
  'answers 500 with an allow': answerJson({ action: {} }, 500),
  'answers 403 with a reject': answerJson({ action: { body: 'no', status_code: 403 } }, 403),
  'answers 404': answerJson({ detail: 'Not Found' }, 404),
  'redirects to where an allow waits': ({ url }, response) =>
    url === '/elsewhere'
      ? answerJson({ action: {} })(undefined, response)
      : void response.writeHead(307, { location: '/elsewhere' }).end('{"action":{}}'),
  'answers 304': (_request, response) => void response.writeHead(304).end(),
  'answers 204': (_request, response) => void response.writeHead(204).end(),
  'is not JSON': (_request, response) => void response.end('<html>'),
  'is JSON that breaks off': (_request, response) => void response.end('{"action":{}'),
  'is not UTF-8': (_request, response) =>
    void response.end(Buffer.from('{"action":{"reason":"\xff"}}', 'latin1')),
  'has an action twice': (_request, response) =>
    void response.end('{"action":{"body":"no","status_code":403},"action":{}}'),
  'is a list': answerJson([{ action: {} }]),
  'has no action': answerJson({}),
  'has a null action': answerJson({ action: null }),
  'has an action in words': answerJson({ action: 'pass' }),
  'rejects without a status': act(() => ({ body: 'no' })),
  'rejects with a status in quotes': act(() => ({ body: 'no', status_code: '403' })),
  'rejects with a status that is none': act(() => ({ body: 'no', status_code: 99 })),
  'rejects with status 1000': act(() => ({ body: 'no', status_code: 1000 })),
  'gives a status alone': act(() => ({ status_code: 403 })),
  'has a null body': act(() => ({ body: null })),
  'has an empty body': act(() => ({ body: {} })),
  'modifies the other kind': ({ url }, response) =>
    answerJson({
      action: {
        body:
          url === '/request'
            ? { choices: [{ message: { role: 'user', content: 'x' } }] }
            : { messages: [{ role: 'assistant', content: 'x' }] },
      },
    })(undefined, response),
  'modifies to fewer': act((own) => ({ body: own() })),
  'modifies to more': act((own, role) => ({
    body: own({ role, content: 'x' }, { role, content: 'y' }),
  })),
  'modifies the role': act((own) => ({ body: own({ role: 'system', content: 'x' }) })),
  'modifies to null': act((own, role) => ({ body: own({ role, content: null }) })),
  'modifies to no text': act((own, role) => ({ body: own({ role }) })),
  'breaks the connection': (_request, { socket }) => void socket?.destroy(),
  'resets the connection': (_request, { socket }) => void socket?.resetAndDestroy(),
  'speaks no HTTP': raw('hello\r\n\r\n'),
  'ends in the middle of an answer': raw(
    'HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{"action":{}}',
  ),
  'gives a trailer that is no field': raw(
    'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nd\r\n{"action":{}}\r\n0\r\nnone\r\n\r\n',
  ),
  // There is no deadline: the flood itself must be refused.
  'gives interim answers without end': (_request, { socket }) => {
    const flood = (): void => {
      while (socket?.writable === true && socket.write('HTTP/1.1 103 Early\r\n\r\n'.repeat(100)));
    }
    socket?.on('drain', flood)
    flood()
  },
  'says two lengths': raw(
    'HTTP/1.1 200 OK\r\ncontent-length: 13\r\ncontent-length: 14\r\n\r\n{"action":{}}',
  ),
}

const LATE: Readonly<Record<string, Reply>> = {
  'never answers': () => {},
  'trickles its headers': trickle(({ socket }) => void socket?.write('HTTP/1.1 200 OK\r\nx: ')),
  'trickles its body': trickle((response) => void response.writeHead(200).write('{"action":{}}')),
}

const rows = (ways: object, name: string): [string, Phase, string][] =>
  Object.keys(ways).flatMap((way) =>
    PHASES.map((phase): [string, Phase, string] => [way, phase, name]),
  )

describe('a webhook that', () => {
  test.each([...rows(ANSWERS, 'guard'), ...rows(LATE, 'hurried')])(
    '%s, in the %s phase: 503 when it fails closed, on when it fails open',
    async (way, phase, name) => {
      const answer = ANSWERS[way] ?? LATE[way] ?? expect.unreachable()
      stack.llm.answer(answerJson(completion('the secret')))
      stack.webhook.answer(answer)
      const closed = await stack.post(`/${phase}-${name}-FailClosed`, chat('my secret'), {
        origin: ORIGIN,
      })
      expect(closed.status).toBe(503)
      expect(JSON.parse(closed.body)).toMatchObject({ error: { code: 'guardrail_unavailable' } })
      expect(closed.headers['access-control-allow-origin']).toBe(ORIGIN)
      expect(closed.body).not.toContain('secret')
      expect(stack.llm.requests).toHaveLength(phase === 'request' ? 0 : 1)
      expect(stack.webhook.requests.map(({ url }) => url)).not.toContain('/elsewhere')

      const open = await stack.post(`/${phase}-${name}-FailOpen`, chat('my secret'))
      expect(open).toMatchObject({ status: 200, body: JSON.stringify(completion('the secret')) })
      expect(stack.llm.requests.at(-1)?.body).toBe(chat('my secret'))

      stack.reset()
      expect((await stack.post(`/${phase}-guard-FailClosed`, chat('hi'))).status).toBe(200)
      expect(asked(stack.webhook)).toHaveLength(1)
    },
  )
})
