// npm run flakes: lists the tests that failed in a run on this machine, and passed in another on the same code, or in a later
// one though their file had not changed.

import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { reports, reportsFolder } from './reports.mjs'
import { runScript } from './runtime.mjs'

const HELP = `npm run flakes: lists tests that failed and passed, from the reports of the last runs on this machine.

  same code   a test failed in one run and passed in another, and nothing at all had changed: it flakes
  same file   it passed later, and its file had not changed, but other code had: it flakes, or was mended there

Runs with another Node or another Envoy are not compared. The reports are in
${reportsFolder()}; remove the folder to begin anew.
`

/** Name of what fails when a file cannot be loaded, or a hook of it fails. */
const WHOLE_FILE = '(the file itself)'

/**
 * Returns the tests of a file of a report: name, whether it passed, and its failure. Tests of one name count as one, which
 * passes if all of them do.
 */
function testsOf({ assertionResults, status, message }) {
  const tests = new Map()
  for (const { status, ancestorTitles, title, failureMessages } of assertionResults) {
    if (status !== 'passed' && status !== 'failed') continue
    const name = [...ancestorTitles, title].filter((part) => part !== '').join(' > ')
    if (tests.get(name)?.isPassed !== false)
      tests.set(name, { name, isPassed: status === 'passed', why: failureMessages[0] })
  }
  const isByTest = [...tests.values()].some(({ isPassed }) => !isPassed)
  const isPassed = status !== 'failed' || isByTest
  return [...tests.values(), { name: WHOLE_FILE, isPassed, why: message }]
}

/** Yields what became of each test in each run. Runs with another Node or Envoy are runs of other tests. */
function* runsOf(reports) {
  for (const { code, node, envoy, startTime: time, testResults } of reports)
    for (const file of testResults)
      for (const test of testsOf(file)) {
        const key = [file.name, test.name, node, envoy].join('\n')
        yield { ...test, key, file: file.name, hash: file.hash, code, time }
      }
}

/**
 * Returns the tests that failed and passed, those on the same code first.
 * @param read returns the reports, the oldest first. It is called twice: only tests that failed are held in memory.
 */
export function flakesIn(read) {
  const failing = new Map()
  for (const { key, isPassed } of runsOf(read())) if (!isPassed) failing.set(key, [])
  for (const run of runsOf(read())) failing.get(run.key)?.push(run)
  const order = ({ isSameCode }) => (isSameCode ? 0 : 1)
  return [...failing.values()]
    .flatMap(flakeOf)
    .sort((one, other) => order(one) - order(other) || other.last - one.last)
}

function flakeOf(runs) {
  const passed = runs.filter(({ isPassed }) => isPassed)
  const isOnSame = (failure) =>
    failure.code !== undefined && passed.some(({ code }) => code === failure.code)
  const isLater = (failure) =>
    passed.some(({ hash, time }) => hash === failure.hash && time > failure.time)
  const failures = runs.filter((run) => !run.isPassed && (isOnSame(run) || isLater(run)))
  const last = failures.at(-1)
  if (last === undefined) return []
  const { file, name, time, why = '' } = last
  const isSameCode = failures.some(isOnSame)
  const counts = { failed: failures.length, runs: runs.length }
  return [{ file, name, isSameCode, ...counts, last: time, why: why.split('\n')[0] }]
}

const timeOf = (ms) => new Date(ms).toISOString().slice(0, 16).replace('T', ' ')

function print(flakes, count, since) {
  const seen = `${count} ${count === 1 ? 'run' : 'runs'} since ${timeOf(since)}`
  if (flakes.length === 0) return `no test has failed and passed in ${seen}`
  const lines = flakes.flatMap(({ file, name, isSameCode, failed, runs, last, why }) => [
    `${file}`,
    `  ${name}`,
    `  ${isSameCode ? 'same code' : 'same file'}; failed in ${failed} of ${runs} runs, last ${timeOf(last)}`,
    `  ${why.slice(0, 160)}\n`,
  ])
  return [...lines, `${flakes.length} in ${seen} (times in UTC)`].join('\n')
}

if (process.argv[1] !== undefined && resolve(process.argv[1]) === fileURLToPath(import.meta.url))
  await runScript(() => {
    const say = (text) => process.stdout.write(`${text}\n`)
    if (process.argv.includes('--help')) {
      say(HELP.trimEnd())
      return 0
    }
    const times = [...reports()].map(({ startTime }) => startTime)
    if (times.length === 0) say(`no run has been reported yet (${reportsFolder()})`)
    else say(print(flakesIn(reports), times.length, times[0]))
    return 0
  })
