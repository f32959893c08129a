// Reports of test runs, and the tests that flake according to them (scripts/flakes.mjs, scripts/vitest.mjs).

import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { flakesIn } from '../scripts/flakes.mjs'

const ROOT = resolve(import.meta.dirname, '..')

interface Run {
  readonly code?: string | undefined
  readonly hash?: string
  readonly node?: string
  readonly envoy?: string
  readonly tests: Readonly<Record<string, 'passed' | 'failed' | 'skipped'>>
}

const FILE = 'test/x.test.ts'

/** Reports of runs, one a second. */
const reportsOf = (runs: readonly Run[]): readonly unknown[] =>
  runs.map(({ code, hash = 'h', node = 'v24', envoy, tests }, index) => ({
    code,
    node,
    envoy,
    startTime: index * 1000,
    testResults: [
      {
        name: FILE,
        hash,
        message: '',
        status: Object.values(tests).includes('failed') ? 'failed' : 'passed',
        assertionResults: Object.entries(tests).map(([title, status]) => ({
          ancestorTitles: ['', 'group'],
          title,
          status,
          failureMessages: status === 'failed' ? [`it failed in ${index}\nstack`] : [],
        })),
      },
    ],
  }))

const flakes = (...runs: readonly Run[]): ReturnType<typeof flakesIn> =>
  flakesIn(() => reportsOf(runs))

describe('a test flakes', () => {
  test('if it failed and passed on the same code, in whatever order', () => {
    const failed: Run = { code: 'a', tests: { one: 'failed', other: 'passed' } }
    const passed: Run = { code: 'a', tests: { one: 'passed', other: 'passed' } }
    const flake = { file: FILE, name: 'group > one', isSameCode: true, failed: 1, runs: 2 }
    expect(flakes(failed, passed)).toEqual([{ ...flake, last: 0, why: 'it failed in 0' }])
    expect(flakes(passed, failed)).toEqual([{ ...flake, last: 1000, why: 'it failed in 1' }])
  })

  test('perhaps, if it passed later and its file was the same', () => {
    const failed: Run = { code: 'a', tests: { one: 'failed' } }
    const passed: Run = { code: 'b', tests: { one: 'passed' } }
    const flake = { name: 'group > one', isSameCode: false }
    expect(flakes(failed, passed)).toEqual([expect.objectContaining(flake)])
    expect(flakes(passed, failed)).toEqual([])
    expect(flakes(failed, { ...passed, hash: 'changed' })).toEqual([])
  })

  test('not if it failed always, or passed always, or was skipped', () => {
    const run: Run = { code: 'a', tests: { fails: 'failed', passes: 'passed', no: 'skipped' } }
    expect(flakes(run, run, run)).toEqual([])
  })

  test('not if it fails with another Node or another Envoy only', () => {
    const failed: Run = { code: 'a', tests: { one: 'failed' } }
    const passed: Run = { code: 'a', tests: { one: 'passed' } }
    expect(flakes({ ...failed, node: 'v22' }, passed)).toEqual([])
    expect(flakes({ ...failed, envoy: '/older' }, passed)).toEqual([])
  })

  test('not on the same code if nobody knows the code', () => {
    const failed: Run = { tests: { one: 'failed' } }
    expect(flakes({ tests: { one: 'passed' } }, failed)).toEqual([])
    expect(flakes(failed, { tests: { one: 'passed' } })[0]?.isSameCode).toBe(false)
  })
})

test('a file that could not be loaded flakes as a whole', () => {
  const [report] = reportsOf([{ code: 'a', tests: {} }]) as [{ testResults: object[] }]
  const [file] = report.testResults
  const broken = { ...report, testResults: [{ ...file, status: 'failed', message: 'no module' }] }
  expect(flakesIn(() => [broken, report])).toEqual([
    expect.objectContaining({ file: FILE, name: '(the file itself)', why: 'no module' }),
  ])
})

test('tests with the same name count as one, which fails if one of them does', () => {
  const [report] = reportsOf([{ code: 'a', tests: { one: 'failed' } }])
  const twice = structuredClone(report) as {
    testResults: [{ assertionResults: { status: string }[] }]
  }
  const [{ assertionResults }] = twice.testResults
  assertionResults.push({ ...assertionResults[0], status: 'passed' })
  expect(flakesIn(() => [twice, twice])).toEqual([])
})

describe('a run', () => {
  const cache = mkdtempSync(join(tmpdir(), 'gatehouse-reports-'))
  afterAll(() => rmSync(cache, { recursive: true }))
  const node = (
    ...args: readonly string[]
  ): { readonly stdout: string; readonly status: unknown } =>
    spawnSync(process.execPath, args, {
      cwd: ROOT,
      env: { ...process.env, XDG_CACHE_HOME: cache, GATEHOUSE_NODE: 'ready', NO_COLOR: '1' },
      encoding: 'utf8',
    })

  test('is reported beside what the caller asks for, and its exit code is vitest’s', () => {
    const script = join(cache, 'run.mjs')
    const args = ['run', '--project=unit', 'test/scripts.test.ts', '-t', 'hash', '--reporter=tap']
    const code = `import { runVitest } from '${join(ROOT, 'scripts/vitest.mjs')}'
      process.exitCode = await runVitest(${JSON.stringify(args)}, { within: ['env', 'A=b'] })`
    writeFileSync(script, code)
    const { stdout, status } = node(script)
    expect(stdout).toContain('TAP version')
    expect(stdout).not.toContain('JSON report')
    expect(status).toBe(0)
    expect(readdirSync(join(cache, 'gatehouse/test-reports'))).toHaveLength(1)
    expect(node('scripts/flakes.mjs').stdout).toMatch(/^no test has failed and passed in 1 run /)
    writeFileSync(script, code.replace('scripts.test.ts', 'there-is-no-such-file.test.ts'))
    expect(node(script).status).toBe(1)
  })

  test('that flaked is listed with its counts, and only the newest runs are kept', () => {
    const folder = join(cache, 'gatehouse/test-reports')
    mkdirSync(folder, { recursive: true })
    for (let day = 100; day < 305; day++) writeFileSync(join(folder, `0${day}.json.gz`), 'broken')
    const script = join(cache, 'add.mjs')
    const add = (report: unknown): void => {
      const text = JSON.stringify(report)
      const lines = `import { addReport } from '${join(ROOT, 'scripts/reports.mjs')}'`
      writeFileSync(script, `${lines}\naddReport(${text})`)
      expect(node(script)).toMatchObject({ status: 0 })
    }
    for (const one of ['failed', 'passed'] as const)
      for (const report of reportsOf([{ code: 'a', tests: { one } }])) add(report)
    expect(readdirSync(folder)).toHaveLength(200)
    expect(node('scripts/flakes.mjs').stdout).toContain(
      [FILE, '  group > one', '  same code; failed in 1 of 2 runs, last 1970-01-01 00:00'].join(
        '\n',
      ),
    )
  })
})
