// Converts Envoy's log lines to Gatehouse's.

import { afterEach, expect, test, vi } from 'vitest'
import { EnvoyLog } from '../../../src/cli/run-envoy/log-lines.js'
import { recordingLogger } from '../../wire/grpc/recording-logger.js'

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
  new EnvoyLog(logger).push(Buffer.from(`${line}\n`))
  expect(lines).toMatchObject([{ level, message: `envoy: ${text}` }])
})

test('an empty line is none', () => {
  const { logger, lines } = recordingLogger()
  new EnvoyLog(logger).push(Buffer.from('\n\n'))
  expect(lines).toEqual([])
})

afterEach(() => {
  vi.useRealTimers()
})

test('lines arrive in any slices, and the last one may have no end', () => {
  const text = Buffer.from('[[info|a]] größer\r\nno end')
  for (let size = 1; size <= text.length; size += 1) {
    const { logger, lines } = recordingLogger()
    const log = new EnvoyLog(logger)
    for (let at = 0; at < text.length; at += size) log.push(text.subarray(at, at + size))
    log.end()
    expect(lines.map(({ message }) => message)).toEqual(['envoy: größer', 'envoy: no end'])
  }
})

test('a long line is cut, and nothing of it is kept', () => {
  const { logger, lines } = recordingLogger()
  const log = new EnvoyLog(logger)
  const piece = Buffer.from('x'.repeat(1_000_000))
  log.push(Buffer.from('[[error|main]] '))
  for (let times = 0; times < 50; times += 1) log.push(piece)
  log.push(Buffer.from('\n[[info|a]] next\n'))
  const [first, second] = lines.map(({ message }) => message)
  expect(first?.length).toBeLessThan(4200)
  expect(first).toMatch(/^envoy: x+ … \(49995919 bytes left out\)$/)
  expect(second).toBe('envoy: next')
})

test('of a flood, 200 lines a second are logged, and the others are counted once it is over', () => {
  vi.useFakeTimers()
  const { logger, lines } = recordingLogger()
  const log = new EnvoyLog(logger)
  const flood = (count: number): void =>
    log.push(Buffer.from(Array.from({ length: count }, (_, n) => `[[warning|a]] ${n}\n`).join('')))
  flood(1000)
  expect(lines).toHaveLength(200)
  log.push(Buffer.from('[[critical|main]] the end is near\n'))
  expect(log.lastError).toBe('the end is near')
  expect(lines).toHaveLength(200)
  vi.advanceTimersByTime(1000)
  expect(lines.slice(200)).toMatchObject([
    { level: 'warn', fields: { leftOut: 801 }, message: 'envoy: lines left out: 801' },
  ])
  flood(150)
  expect(lines).toHaveLength(351)
  vi.advanceTimersByTime(1000)
  expect(lines).toHaveLength(351)
  flood(201)
  log.end()
  expect(lines.at(-1)).toMatchObject({ message: 'envoy: lines left out: 1' })
})
