// Rejections by guards in the log: each kind on each route is reported, however often clients cause it.

import { expect, test } from 'vitest'
import { requestTooLarge, unreadableRequest } from '../../../src/extproc/guard/inspect-request.js'
import { createRefusalLog } from '../../../src/extproc/webhook/refusal-log.js'
import { createLogLimit } from '../../../src/log-limit.js'

test('one line for each problem of each phase of each route in ten seconds, with how many were left out', () => {
  let now = 0
  const lines: object[] = []
  const log = (fields: object, message: string) => void lines.push({ ...fields, message })
  const logRefusal = createRefusalLog(
    { debug: log, info: log, warn: log, error: log },
    createLogLimit(() => now),
  )
  for (let count = 0; count < 1000; count++) {
    logRefusal('default/llm', 'request', requestTooLarge('/'))
    logRefusal('default/llm', 'request', unreadableRequest('not JSON', '/'))
    logRefusal('default/llm', 'response', unreadableRequest('not JSON', '/'))
    logRefusal('default/other', 'request', requestTooLarge('/'))
  }
  now = 10_000
  logRefusal('default/llm', 'request', requestTooLarge('/'))
  const tooLarge = { route: 'default/llm', status: 413, problem: 'the body is too large' }
  expect(lines).toEqual([
    { ...tooLarge, leftOut: 0, message: 'request refused' },
    {
      route: 'default/llm',
      status: 400,
      problem: 'not JSON',
      leftOut: 0,
      message: 'request refused',
    },
    {
      route: 'default/llm',
      status: 400,
      problem: 'not JSON',
      leftOut: 0,
      message: 'reply refused',
    },
    { ...tooLarge, route: 'default/other', leftOut: 0, message: 'request refused' },
    { ...tooLarge, leftOut: 999, message: 'request refused' },
  ])
})
