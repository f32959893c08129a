// Runs the official suite, and reads the report that it writes.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
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
}

/** The part of a profile in a conformance report (gateway.networking.k8s.io/v1 ConformanceReport) that the test judges. */
export interface Profile {
  readonly core: Outcome
  readonly extended?: Outcome
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
export const REPORT = `experimental-${version}-default-report.yaml`

/** How Gatehouse names itself in the report. */
const IMPLEMENTATION = [
  ...['-organization', 'gatehouse', '-project', 'gatehouse', '-version', version],
  ...['-url', 'https://gatehouse.dev', '-contact', '@gatehouse/maintainers'],
]

/** Resolves to the report about the profile. Rejects if no test ran. */
export async function runSuite(options: SuiteOptions): Promise<Profile> {
  const { kubeconfig, gatewayClass, folder, flags } = options
  const report = join(folder, 'report.yaml')
  // The suite writes the file itself, so that all of it is there when the suite has ended.
  const log = openSync(join(folder, 'suite.log'), 'w')
  const own = ['-test.v', '-test.timeout', '60m', '-test.parallel', '8']
  const suite = ['-gateway-class', gatewayClass, '-conformance-profiles', 'GATEWAY-HTTP']
  const kept = ['-report-output', report, '-cleanup-base-resources=false']
  const child = spawn(
    process.env['GATEHOUSE_TEST_GATEWAY_API_SUITE'] ?? '',
    [...own, ...suite, ...kept, ...IMPLEMENTATION, ...flags],
    { stdio: ['ignore', log, log], env: { ...process.env, KUBECONFIG: kubeconfig } },
  )
  closeSync(log)
  await once(child, 'close')
  const { profiles } = parse(readFileSync(report, 'utf8')) as {
    readonly profiles: Profile[] | null
  }
  const [profile] = profiles ?? []
  if (profile === undefined) throw new Error(`no test ran: see ${folder}/suite.log`)
  return profile
}
