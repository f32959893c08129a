// Runs the official suite, and reads the report that it writes.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, copyFileSync, openSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect } from 'vitest'
import { parse } from 'yaml'

interface Outcome {
  readonly result: 'success' | 'failure' | 'partial'
  readonly failedTests?: readonly string[]
  readonly skippedTests?: readonly string[]
  readonly statistics: {
    readonly Passed: number
    readonly Failed: number
    readonly Skipped: number
  }
  readonly supportedFeatures?: readonly string[]
  readonly unsupportedFeatures?: readonly string[]
}

/** The part of a profile in a conformance report (gateway.networking.k8s.io/v1 ConformanceReport). */
interface Profile {
  readonly name: string
  readonly core: Outcome
  readonly extended?: Outcome
}

/** How a run of the suite ended. */
export interface SuiteRun {
  readonly exitCode: number | null
  readonly profiles: readonly Profile[]
  /** Names of the tests in the log by how they ended: the report does not count tests of features of no profile. */
  readonly ended: Readonly<Record<'PASS' | 'FAIL' | 'SKIP', readonly string[]>>
}

export interface SuiteOptions {
  readonly kubeconfig: string
  readonly gatewayClass: string
  /** Folder for the log and the report. */
  readonly folder: string
  /** Additional flags. */
  readonly flags: readonly string[]
}

const { version } = JSON.parse(
  readFileSync(resolve(import.meta.dirname, '../../../package.json'), 'utf8'),
) as { version: string }

/** Name of the committed report, as the Gateway API project requires it. */
const REPORT = `experimental-${version}-default-report.yaml`

const REPORTS = resolve(import.meta.dirname, '../../../docs/gateway-api')

/** How Gatehouse names itself in the report. */
const IMPLEMENTATION = [
  '-organization',
  'gatehouse',
  '-project',
  'gatehouse',
  '-version',
  version,
  '-url',
  'https://gatehouse.dev',
  '-contact',
  '@gatehouse/maintainers',
]

/** Resolves when the suite has ended. Rejects if no test ran. */
export async function runSuite(options: SuiteOptions): Promise<SuiteRun> {
  const { kubeconfig, gatewayClass, folder, flags } = options
  const report = join(folder, 'report.yaml')
  const log = join(folder, 'suite.log')
  // The suite writes the file itself, so that all of it is there when the suite has ended.
  const output = openSync(log, 'w')
  const own = ['-test.v', '-test.timeout', '60m', '-test.parallel', '8']
  const suite = ['-gateway-class', gatewayClass, '-conformance-profiles', 'GATEWAY-HTTP']
  const kept = ['-report-output', report, '-cleanup-base-resources=false']
  const child = spawn(
    process.env['GATEHOUSE_TEST_GATEWAY_API_SUITE'] ?? '',
    [...own, ...suite, ...kept, ...IMPLEMENTATION, ...flags],
    { stdio: ['ignore', output, output], env: { ...process.env, KUBECONFIG: kubeconfig } },
  )
  closeSync(output)
  const [exitCode] = (await once(child, 'close')) as [number | null]
  const profiles = readReport(report)
  if (profiles.length === 0) throw new Error(`no test ran: see ${log}`)
  return { exitCode, profiles, ended: endsIn(readFileSync(log, 'utf8')) }
}

function readReport(file: string): readonly Profile[] {
  const { profiles } = parse(readFileSync(file, 'utf8')) as { readonly profiles: Profile[] | null }
  return profiles ?? []
}

function endsIn(log: string): SuiteRun['ended'] {
  const named = (how: string): readonly string[] =>
    [...log.matchAll(new RegExp(`^ *--- ${how}: TestConformance/([^/\\s]+) `, 'gm'))]
      .map(([, name = '']) => name)
      .sort()
  return { PASS: named('PASS'), FAIL: named('FAIL'), SKIP: named('SKIP') }
}

/** The profiles of the committed report. */
export const committedReport = (): readonly Profile[] => readReport(join(REPORTS, REPORT))

/** Puts the report of a run into the folder of committed ones. */
export const commitReport = (folder: string, reports: string): void =>
  copyFileSync(join(folder, 'report.yaml'), join(reports, REPORT))

/**
 * Fails if a test of the run failed, or if the suite left one out. skipped: those that it was told to skip; undefined: it
 * was told to run some only.
 */
export function expectNoFailure(
  { exitCode, ended, profiles }: SuiteRun,
  folder: string,
  skipped?: readonly string[],
): void {
  const outcomes = profiles.flatMap(({ core, extended }) => [core, ...(extended ? [extended] : [])])
  const leftOut = outcomes.flatMap(({ skippedTests = [] }) => skippedTests)
  expect({
    exitCode,
    FAIL: ended.FAIL,
    logs: folder,
    failed: outcomes.flatMap(({ failedTests = [] }) => failedTests),
    leftOut,
    results: outcomes.map(({ result }) => result),
  }).toEqual({
    exitCode: 0,
    FAIL: [],
    logs: folder,
    failed: [],
    leftOut: skipped ?? leftOut,
    results: outcomes.map(({ statistics }) => (statistics.Skipped > 0 ? 'partial' : 'success')),
  })
}
