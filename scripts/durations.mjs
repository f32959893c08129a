// node scripts/durations.mjs: writes how long each test file takes into test/durations.json, of the reports of the last runs on
// this machine (scripts/reports.mjs): the shortest time in which it has passed, as a run may share its cores. Files without a
// report keep theirs. The longest files start first (vitest.config.ts).

import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { reports } from './reports.mjs'
import { root } from './stale.mjs'

/** Projects of which each file starts programs. */
const FOLDERS = ['integration', 'parties', 'kubernetes', 'mesh']
/** Seconds of another file that is worth a line. */
const LONG = 3
const TARGET = join(root, 'test/durations.json')

const seconds = new Map()
for (const { testResults } of reports())
  for (const { name, assertionResults, startTime, endTime } of testResults)
    // Not of a run that was told to run some of its tests.
    if (assertionResults.every(({ status }) => status === 'passed')) {
      const taken = Math.ceil((endTime - startTime) / 1000)
      seconds.set(name, Math.min(taken, seconds.get(name) ?? Infinity))
    }

const before = existsSync(TARGET) ? Object.entries(JSON.parse(readFileSync(TARGET, 'utf8'))) : []
const isWorthALine = ([path, taken]) =>
  existsSync(join(root, path)) &&
  (taken >= LONG || FOLDERS.some((folder) => path.startsWith(`test/${folder}/`)))
const kept = [...new Map([...before, ...seconds])].filter(isWorthALine)
const sorted = kept.sort(([one], [other]) => (one < other ? -1 : 1))
writeFileSync(TARGET, `${JSON.stringify(Object.fromEntries(sorted), undefined, 2)}\n`)
