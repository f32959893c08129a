// A reporter of vitest: writes its JSON report, with the commit and a hash of each test file, where `npm run flakes` finds it.

import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { JsonReporter } from 'vitest/node'
import { addReport } from './reports.mjs'
import { root } from './stale.mjs'

/** A variable with the path of the Envoy of a run. */
const ENVOY = 'GATEHOUSE_TEST_ENVOY'

function hashOf(...parts) {
  const hash = createHash('sha256')
  for (const part of parts) hash.update(part)
  return hash.digest('hex').slice(0, 16)
}

const git = (...args) =>
  execFileSync('git', args, { cwd: root, maxBuffer: 2 ** 30, stdio: ['ignore', 'pipe', 'ignore'] })

/** Returns a name for exactly this code: the commit, and a hash of what differs from it. Undefined outside of git. */
function codeHere() {
  try {
    const commit = String(git('rev-parse', 'HEAD')).trim()
    const others = String(git('ls-files', '--others', '--exclude-standard', '-z'))
      .split('\0')
      .filter((path) => path !== '')
    const difference = [
      git('diff', 'HEAD'),
      ...others.map((path) => readFileSync(join(root, path))),
    ]
    return others.length === 0 && difference[0].length === 0
      ? commit
      : `${commit} ${hashOf(...difference)}`
  } catch {
    return undefined
  }
}

export default class Report extends JsonReporter {
  constructor() {
    super({})
    this.code = codeHere()
  }

  writeReport(text) {
    const report = JSON.parse(text)
    if (report.testResults.length === 0) return
    for (const file of report.testResults) {
      file.hash = hashOf(readFileSync(file.name))
      file.name = relative(root, file.name)
    }
    try {
      addReport({ ...report, code: this.code, node: process.version, envoy: process.env[ENVOY] })
    } catch (error) {
      // A disk that is full, or a home that is read-only, is no reason for tests to fail.
      process.stderr.write(`the report of this run could not be kept: ${error.message}\n`)
    }
  }
}
