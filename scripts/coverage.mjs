// node scripts/coverage.mjs: measures which branches of the rooms below the unit tests take, and fails if a room has fewer than
// test/coverage-floors.json says. With --raise it writes floors that rose, and the table of docs/tests.md. With --html it also
// writes pages that show each line, into .cache/coverage. With --last it takes the figures of the run before, even if a test
// failed in it. Other arguments are passed to vitest.

import { readFileSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { runScript } from './runtime.mjs'
import { setup } from './setup.mjs'
import { root } from './stale.mjs'
import { writeTable } from './tables.mjs'
import { runVitest } from './vitest.mjs'

/** Rooms that see what callers and providers send; a file counts for the first that holds it. */
const ROOMS = [
  'extauthz/cel',
  'extauthz/mcp',
  'extauthz/oauth',
  'extauthz',
  'extproc/llm',
  'extproc',
]
const FLOORS = join(root, 'test/coverage-floors.json')
const PAGE = join(root, 'docs/tests.md')
const REPORTS = '.cache/coverage'
/** How far a new floor is below what was measured, in points: properties try other values each time. */
const MARGIN = 0.2

const print = (text) => process.stdout.write(`${text}\n`)

const OWN_FLAGS = ['--raise', '--html', '--last']

await runScript(async () => {
  await setup()
  const has = (flag) => process.argv.includes(flag)
  if (has('--last')) return compare(branches(), has('--raise'))
  const others = process.argv.slice(2).filter((arg) => !OWN_FLAGS.includes(arg))
  const code = await runVitest([
    'run',
    '--project=unit',
    '--project=long',
    '--project=isolated',
    '--coverage.enabled',
    '--coverage.provider=v8',
    `--coverage.reportsDirectory=${REPORTS}`,
    '--coverage.reportOnFailure',
    ...ROOMS.map((room) => `--coverage.include=src/${room}/**`),
    ...['json-summary', ...(has('--html') ? ['html'] : [])].map(
      (name) => `--coverage.reporter=${name}`,
    ),
    ...others,
  ])
  if (code !== 0) return code
  return compare(branches(), has('--raise'))
})

/** Returns the branches of each room: how many there are, and how many were taken. */
function branches() {
  const summary = JSON.parse(readFileSync(join(root, REPORTS, 'coverage-summary.json'), 'utf8'))
  const counts = new Map(ROOMS.map((room) => [room, { total: 0, covered: 0 }]))
  for (const [file, { branches: own }] of Object.entries(summary)) {
    const room = ROOMS.find((name) => relative(root, file).startsWith(`src/${name}/`))
    if (room === undefined) continue
    const count = counts.get(room)
    count.total += own.total
    count.covered += own.covered
  }
  return counts
}

/** Prints what each room has. With `isRaising`, writes floors that rose, and the table of the page. Returns the exit code. */
function compare(counts, isRaising) {
  const floors = JSON.parse(readFileSync(FLOORS, 'utf8'))
  const rooms = [...counts].map(([room, { total, covered }]) => {
    const percent = (100 * covered) / total
    const floor = floors[room] ?? 0
    const next = Math.max(floor, Math.floor((percent - MARGIN) * 10) / 10)
    return { room, total, percent, floor, next }
  })
  for (const { room, total, percent, floor, next } of rooms) {
    const verdict = percent < floor ? 'TOO LOW' : next > floor ? 'could rise (--raise)' : ''
    const cells = [
      room.padEnd(10),
      `${percent.toFixed(1)} %`.padStart(8),
      `of ${total} branches`.padStart(20),
      `floor ${floor.toFixed(1)} %`.padStart(16),
    ]
    print(`${cells.join('')}  ${isRaising ? '' : verdict}`.trimEnd())
  }
  if (isRaising) raise(rooms)
  const isLower = rooms.some(({ percent, floor }) => percent < floor)
  if (isLower) print('test what is new, or say in the change why it cannot be')
  return isLower ? 1 : 0
}

function raise(rooms) {
  const floors = Object.fromEntries(rooms.map(({ room, next }) => [room, next]))
  writeFileSync(FLOORS, `${JSON.stringify(floors, undefined, 2)}\n`)
  const rows = rooms.map(({ room, total, percent, next }) => [
    `\`src/${room}\``,
    String(total),
    `${percent.toFixed(1)} %`,
    `${next.toFixed(1)} %`,
  ])
  writeTable(PAGE, 'coverage', ['room', 'branches', 'taken', 'floor'], rows)
}
