// What an operator sees of guardrails: a log line and a count for each verdict, and no text of any prompt, reply or
// answer.

import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { eventually } from '../../testing/eventually.js'
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

const BACKEND = 'service/default/guard/80'

let stack: GuardedStack

beforeAll(async () => {
  stack = await startGuardedStack(
    [
      ...guardedRoute('/closed', both(hook('guard'))),
      ...guardedRoute('/open', both(hook('guard', { failureMode: 'FailOpen' }))),
    ],
    { flags: ['--log-level', 'debug'] },
  )
})
afterAll(() => stack.close())
beforeEach(() => stack.reset())

interface Line {
  readonly msg?: string
  readonly route?: string
  readonly webhook?: string
  readonly phase?: string
  readonly outcome?: string
}

const verdictLines = (): Line[] =>
  stack
    .log()
    .split('\n')
    .filter((line) => line.includes('"outcome"'))
    .map((line) => JSON.parse(line) as Line)

/** Verdicts counted so far, by phase, outcome and reason; the same of the histogram's observations by phase. */
async function counted(): Promise<Record<string, number>> {
  const found = [
    ...(await stack.metrics()).matchAll(
      /^gatehouse_guardrail_(?:verdicts_total|webhook_duration_seconds_count)\{webhook="([^"]*)",phase="([^"]*)"(?:,outcome="([^"]*)"(?:,reason="([^"]*)")?)?\} (\d+)$/gm,
    ),
  ]
  return Object.fromEntries(
    found.map(([, webhook, phase, outcome, reason, count]) => {
      expect(webhook).toBe(BACKEND)
      const why = reason === undefined ? '' : ` ${reason}`
      return [`${phase ?? ''} ${outcome ?? 'seconds'}${why}`, Number(count)]
    }),
  )
}

test('each verdict is counted and timed by webhook, phase and outcome, and logged in one line', async () => {
  await stack.post('/closed', chat('hi'))
  await stack.post('/closed', chat('a secret'))
  await stack.post('/closed', chat('block'))
  stack.llm.answer(answerJson(completion('a secret')))
  await stack.post('/closed', chat('hi'))
  stack.llm.answer(answerJson(completion('block')))
  await stack.post('/closed', chat('hi'))
  stack.webhook.answer(answerJson({}, 500))
  await stack.post('/closed', chat('hi'))
  await stack.post('/open', chat('hi'))
  stack.webhook.answer(answerJson({ verdict: 'fine' }))
  await stack.post('/closed', chat('hi'))
  expect(await counted()).toEqual({
    'request allow': 3,
    'request modify': 1,
    'request reject': 1,
    'request fail-closed status': 1,
    'request fail-closed invalid': 1,
    'request fail-open status': 1,
    'request seconds': 8,
    'response allow': 2,
    'response modify': 1,
    'response reject': 1,
    'response fail-open status': 1,
    'response seconds': 5,
  })
  await eventually(() => expect(verdictLines()).toHaveLength(13))
  expect(verdictLines()[0]).toMatchObject({
    msg: 'guardrail verdict',
    route: 'default/closed',
    webhook: BACKEND,
    phase: 'request',
    outcome: 'allow',
  })
  expect(verdictLines().at(-2)).toMatchObject({
    msg: 'guardrail webhook is unavailable',
    route: 'default/open',
    phase: 'response',
    outcome: 'fail-open',
    problem: 'it answered HTTP 500',
    rule: 'promptGuard.response[0]',
    path: '/open/v1/chat/completions',
    requestId: expect.stringMatching(/^[\da-f-]{36}$/) as unknown,
  })
})

/** Stands in every text of this test: what may be found nowhere but with the parties. */
const WORD = 'zanzibar'

test('no word of a prompt, a reply or a webhook but its reasons is in the log at debug level, the metrics, the status or the dump', async () => {
  const verdicts: object[] = [
    { action: { reason: 'a rule' } },
    { action: { body: WORD, status_code: 403, reason: 'a rule' } },
    { action: { body: { messages: [{ role: 'user', content: WORD }] }, reason: 'a rule' } },
    { action: { body: { choices: [{ message: { role: 'assistant', content: WORD } }] } } },
    { action: { body: { messages: [{ role: WORD, content: WORD }] } } },
    { action: WORD },
  ]
  const replies = [
    answerJson(completion(`a ${WORD}`)),
    answerJson({ error: { message: WORD } }, 500),
    answerJson({ [WORD]: WORD }),
    answerJson({ choices: [{ message: { role: WORD, content: { [WORD]: WORD } } }] }),
  ]
  for (const verdict of verdicts)
    for (const reply of replies) {
      stack.webhook.answer(answerJson(verdict))
      stack.llm.answer(reply)
      await stack.post('/closed', chat(`my ${WORD}`))
      await stack.post('/open', chat(`my ${WORD}`))
    }
  const unreadable = [
    `{"${WORD}":`,
    `{"messages":[],"${WORD}":"x","${WORD}":1}`,
    `{"${WORD}":"${WORD}"}`,
    JSON.stringify({ messages: [{ role: WORD, content: [{ type: WORD, text: WORD }] }] }),
  ]
  for (const body of unreadable) await stack.post('/closed', body)
  await stack.post('/closed', chat(WORD), { 'content-type': WORD })
  stack.webhook.answer((_request, response) => void response.end(WORD))
  await stack.post('/closed', chat(WORD))
  stack.webhook.answer(
    (_request, response) => void response.writeHead(302, { location: `/${WORD}` }).end(WORD),
  )
  await stack.post('/closed', chat(WORD))

  expect(stack.llm.requests.some(({ body }) => body.includes(WORD))).toBe(true)
  await eventually(() => expect(stack.log()).toContain('HTTP 302'))
  for (const path of ['/metrics', '/status', '/config_dump', '/'])
    expect(await (await fetch(stack.admin + path)).text()).not.toContain(WORD)
  expect(stack.log()).not.toContain(WORD)
  expect(await (await fetch(`${stack.envoyAdmin}/config_dump`)).text()).not.toContain(WORD)
})
