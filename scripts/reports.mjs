// The reports of test runs: vitest's JSON with the code that was tested, compressed, in the user's cache. Runs of all clones
// of the repository are together.

import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import { cacheFolder } from './install.mjs'

/** The number of runs that are kept, the newest ones. */
const MOST = 200
const END = '.json.gz'

export const reportsFolder = () => join(cacheFolder(), 'test-reports')

/** Returns the names of the reports, the oldest first. */
function names() {
  try {
    const all = readdirSync(reportsFolder())
    return all.filter((name) => name.endsWith(END)).sort()
  } catch {
    return []
  }
}

/** Adds a report, named by the time, and removes the oldest ones. */
export function addReport(report) {
  const folder = reportsFolder()
  mkdirSync(folder, { recursive: true })
  const name = `${new Date().toISOString().replace(/[:.]/g, '-')}-${process.pid}`
  const draft = join(folder, `${name}.draft`)
  writeFileSync(draft, gzipSync(JSON.stringify(report)))
  renameSync(draft, join(folder, `${name}${END}`))
  for (const old of names().slice(0, -MOST)) rmSync(join(folder, old), { force: true })
}

/** Yields the reports, the oldest first. One that cannot be read is left out. */
export function* reports() {
  for (const name of names()) {
    try {
      yield JSON.parse(gunzipSync(readFileSync(join(reportsFolder(), name))).toString())
    } catch {
      // Another run has removed it.
    }
  }
}
