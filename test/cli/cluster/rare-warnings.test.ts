// A warning that recurs with every attempt does not fill the log.

import { expect, test } from 'vitest'
import { createRareWarnings } from '../../../src/cli/cluster/cluster.js'
import { recordingLogger } from '../../wire/grpc/recording-logger.js'

test('the same warning is one line in ten seconds, which counts the others', () => {
  const { logger, lines } = recordingLogger()
  let now = 0
  const warn = createRareWarnings(logger, () => now)
  for (const message of ['a', 'a', 'b', 'a']) warn(message)
  now = 10_000
  warn('a')
  expect(lines).toMatchObject([
    { level: 'warn', message: 'a', fields: { leftOut: 0 } },
    { level: 'warn', message: 'b', fields: { leftOut: 0 } },
    { level: 'warn', message: 'a', fields: { leftOut: 2 } },
  ])
})
