// The committed conformance report comes from a run that passed, and covers the features that Gatehouse claims.

import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { SUPPORTED_FEATURES } from '../src/control/translate/status/supported-features.js'

const ROOT = resolve(import.meta.dirname, '..')
const FOLDER = join(ROOT, 'docs/gateway-api')

interface Outcome {
  readonly result: string
  readonly statistics: {
    readonly Passed: number
    readonly Failed: number
    readonly Skipped: number
  }
  readonly supportedFeatures: readonly string[]
  readonly unsupportedFeatures?: readonly string[]
}

interface Report {
  readonly implementation: { readonly version: string }
  readonly profiles: readonly [{ readonly core: Outcome; readonly extended: Outcome }]
}

const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
  readonly version: string
}
const files = readdirSync(FOLDER)
const report = parse(readFileSync(join(FOLDER, files[0] ?? ''), 'utf8')) as Report
const [{ core, extended }] = report.profiles
const CORE = ['Gateway', 'HTTPRoute', 'ReferenceGrant']

test('the report is of this version, and everything passed', () => {
  expect(files).toEqual([`experimental-${version}-default-report.yaml`])
  expect(report.implementation.version).toBe(version)
  expect(core).toMatchObject({ result: 'success', statistics: { Failed: 0, Skipped: 0 } })
  expect(extended).toMatchObject({ result: 'success', statistics: { Failed: 0, Skipped: 0 } })
})

test('the features of the report are those in the status of a GatewayClass, sorted', () => {
  expect([...CORE, ...extended.supportedFeatures].sort()).toEqual(SUPPORTED_FEATURES)
})

test('the README has the counts of the report', () => {
  const readme = readFileSync(join(ROOT, 'README.md'), 'utf8').replaceAll('\n', ' ')
  const [all, more] = [core.statistics.Passed, extended.statistics.Passed]
  const features = extended.supportedFeatures.length
  expect(readme).toContain(`${all} of ${all} core tests`)
  const known = features + (extended.unsupportedFeatures?.length ?? 0)
  expect(readme).toContain(
    `${more} of ${more} tests of the ${features} extended features that it claims, out of ${known}.`,
  )
})
