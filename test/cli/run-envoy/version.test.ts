// Which Envoy versions are accepted, accepted with a warning, or rejected.

import { expect, test } from 'vitest'
import { judgeVersion, parseVersion } from '../../../src/cli/run-envoy/version.js'

const line = (version: string): string =>
  `envoy  version: 9e5580933739775e8bce696a57a2e1bc99368f23/${version}/Clean/RELEASE/BoringSSL`

test.each([
  ['1.36.9', 'refused'],
  ['1.37.0', 'old'],
  ['1.39.4', 'old'],
  ['1.40.0', 'good'],
  ['1.41.2', 'good'],
  ['2.0.0', 'good'],
  ['1.41.0-dev', 'good'],
  ['0.99.0', 'refused'],
])('Envoy %s is %s', (text, type) => {
  const version = parseVersion(line(text))
  expect(version && judgeVersion(version).type).toBe(type)
})

test('a refusal states what is needed', () => {
  expect(judgeVersion({ major: 1, minor: 30, patch: 1 })).toMatchObject({
    sentence: expect.stringMatching(/^Envoy 1\.30\.1 is too old: .*1\.37/) as string,
  })
})

test('what is no Envoy has no version', () => {
  expect(parseVersion('curl 8.1.2')).toBeUndefined()
})
