// h2spec against Gatehouse's server: every case passes, both of RFC 9113 (in its former version, RFC 7540) and of RFC
// 7541.

import { execFile } from 'node:child_process'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type GrpcServer, startGrpcServer } from '../../src/wire/grpc/server.js'
import { ANY_PORT } from '../support/any-port.js'
import { recordingLogger } from '../wire/grpc/recording-logger.js'

let server: GrpcServer

beforeAll(async () => {
  const { logger } = recordingLogger()
  server = await startGrpcServer({ address: ANY_PORT, services: [], logger })
})
afterAll(() => server.close())

test('all 145 cases pass', async () => {
  const [host = '', port = ''] = server.address.split(':')
  const program = process.env['GATEHOUSE_TEST_H2SPEC'] ?? 'h2spec'
  const report = await new Promise<string>((resolve) => {
    execFile(program, ['-h', host, '-p', port, '--timeout', '10'], (_error, stdout) =>
      resolve(stdout),
    )
  })
  const failures = report.slice(Math.max(0, report.indexOf('Failures:')))
  expect(report, failures).toContain('145 tests, 145 passed, 0 skipped, 0 failed')
}, 300_000)
