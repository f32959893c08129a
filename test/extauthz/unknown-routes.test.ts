// Checks for unknown routes: each is denied, and a flood of them leaves few lines in the log.

import { expect, test } from 'vitest'
import { buildAuthzTable } from '../../src/extauthz/authz-table.js'
import { createCheck } from '../../src/extauthz/check.js'
import { recordingLogger } from '../grpc/recording-logger.js'
import { checkRequest } from './helpers.js'

const CALL = { isCancelled: () => false, deadline: Infinity }

test('a flood of them leaves few lines in the log, whatever they name', () => {
  const { logger, lines } = recordingLogger()
  const check = createCheck({
    table: () => buildAuthzTable([]),
    refetchKeySet: () => Promise.resolve({ isAnswered: true, isOlder: false }),
    keySetAnswers: () => 1,
    now: () => 0,
    logger,
    metrics: { observe: () => undefined, audited: () => undefined },
  })
  for (let i = 0; i < 1000; i++) {
    void check(checkRequest({ key: 'default/gone/0' }), CALL)
    void check(checkRequest({ key: null }), CALL)
    void check(Buffer.from('not a message'), CALL)
  }
  expect(lines.map(({ fields }) => fields)).toEqual([
    { reason: 'unknown-route', key: 'default/gone/0', leftOut: 0 },
    { reason: 'unknown-route', leftOut: 0 },
    { reason: 'malformed-check', leftOut: 0 },
  ])
  for (let i = 0; i < 1000; i++) void check(checkRequest({ key: `${'x'.repeat(5000)}${i}` }), CALL)
  for (let i = 0; i < 1000; i++) void check(checkRequest({ key: `${i}` }), CALL)
  expect(lines.length).toBeLessThan(300)
  expect(JSON.stringify(lines).length).toBeLessThan(50_000)
})
