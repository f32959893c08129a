// Converts Envoy's log lines to Gatehouse's.

import { expect, test } from 'vitest'
import { logEnvoyLine } from '../../src/envoy/log-lines.js'
import { recordingLogger } from '../grpc/recording-logger.js'

test.each([
  ['[[debug|http]] d', 'debug', 'd'],
  ['[[info|main]] starting', 'info', 'starting'],
  ['[[warning|config]] gRPC config: [x] rejected', 'warn', 'gRPC config: [x] rejected'],
  ['[[error|main]] e', 'error', 'e'],
  ['[[critical|main]] cannot bind', 'error', 'cannot bind'],
  [
    '[[warning|config]] gRPC config for a.B rejected: why',
    'debug',
    'gRPC config for a.B rejected: why',
  ],
  ['[[warning|main]] caught ENVOY_SIGTERM', 'debug', 'caught ENVOY_SIGTERM'],
  ['a line of its own', 'warn', 'a line of its own'],
])('%s', (line, level, text) => {
  const { logger, lines } = recordingLogger()
  logEnvoyLine(line, logger)
  expect(lines).toMatchObject([{ level, message: `envoy: ${text}` }])
})

test('an empty line is none', () => {
  const { logger, lines } = recordingLogger()
  logEnvoyLine('', logger)
  expect(lines).toEqual([])
})
