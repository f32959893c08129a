// node scripts/durations.mjs REPORT…: writes how long each test file takes, of JSON reports of vitest
// (`npm test -- --reporter=json --outputFile=REPORT`), into test/durations.json. Files that no report has keep theirs. The
// longest files start first (vitest.config.ts).

import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { root } from './stale.mjs'

/** Projects of which each file starts programs. */
const FOLDERS = ['integration', 'parties', 'kubernetes', 'mesh']
/** Seconds of another file that is worth a line. */
const LONG = 3
const TARGET = join(root, 'test/durations.json')

const isWorthALine = ([path, seconds]) =>
  seconds >= LONG || FOLDERS.some((folder) => path.startsWith(`test/${folder}/`))

/** The files of a report, with whole seconds. */
const durationsIn = (report) =>
  JSON.parse(readFileSync(report, 'utf8')).testResults.map(({ name, startTime, endTime }) => [
    relative(root, name),
    Math.ceil((endTime - startTime) / 1000),
  ])

const before = existsSync(TARGET) ? Object.entries(JSON.parse(readFileSync(TARGET, 'utf8'))) : []
const all = new Map([...before, ...process.argv.slice(2).flatMap(durationsIn)])
const kept = [...all].filter((entry) => isWorthALine(entry) && existsSync(join(root, entry[0])))
const sorted = kept.sort(([one], [other]) => (one < other ? -1 : 1))
writeFileSync(TARGET, `${JSON.stringify(Object.fromEntries(sorted), undefined, 2)}\n`)
