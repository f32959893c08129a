// node scripts/mutation.mjs FILE…: changes the code of what authenticates and authorizes in small ways, one at a time, and
// shows each change to the unit tests of its room: a change that no test notices survives. Without a file it takes all files
// of scripts/stryker.config.mjs, which takes hours; a later run repeats only what has changed. Fails if a file has a lower
// score than test/mutation.json says. --accept writes scores that rose into it, and the table of docs/tests.md. --last takes
// the figures of the run before.

import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { runScript } from './runtime.mjs'
import { setup } from './setup.mjs'
import { root } from './stale.mjs'
import { writeTable } from './tables.mjs'

/**
 * What is accepted: `survivors` are changes that no test can notice, or that are accepted for another reason; `scores` is the percentage of the
 * others that the tests noticed, for each file that has been measured.
 */
const ACCEPTED = join(root, 'test/mutation.json')
const PAGE = join(root, 'docs/tests.md')
const REPORT = join(root, '.cache/mutation/report.json')
/** As in stryker.config.mjs. */
const BEFORE = join(root, '.cache/mutation/incremental.json')
const NOTICED = ['Killed', 'Timeout']
const MISSED = ['Survived', 'NoCoverage']

const print = (text) => process.stdout.write(`${text}\n`)

await runScript(async () => {
  await setup()
  const args = process.argv.slice(2)
  if (args.includes('--last')) return judge(args)
  const files = args.filter((arg) => !arg.startsWith('--'))
  // Stryker and vitest are asked for here, as the script itself starts on any Node.
  const { Stryker } = await import('@stryker-mutator/core')
  const { default: config } = await import('./stryker.config.mjs')
  mkdirSync(join(root, '.cache/mutation'), { recursive: true })
  forgetDoubtful()
  process.chdir(root)
  // Half a second of random values is enough for each change.
  process.env['GATEHOUSE_TEST_RUNS'] ??= '0.1'
  const mutants = await new Stryker(
    files.length === 0 ? config : { ...config, mutate: files },
  ).runMutationTest()
  // A file of which nothing can be changed has no score.
  if (mutants.length === 0) return 0
  return judge(args)
})

/**
 * Lets a run repeat results of the run before that may be wrong now: what took too long, as a busy machine makes everything
 * slow, and what survived in code that runs once for each process, of which Stryker does not know which tests it concerns.
 */
function forgetDoubtful() {
  if (!existsSync(BEFORE)) return
  const all = JSON.parse(readFileSync(BEFORE, 'utf8'))
  for (const file of Object.values(all.files))
    file.mutants = file.mutants.filter(
      (mutant) => mutant.status !== 'Timeout' && !(mutant.static && mutant.status === 'Survived'),
    )
  writeFileSync(BEFORE, JSON.stringify(all))
}

/**
 * Prints the score of each file that was asked for, and what survived beyond what is accepted. The report has results of runs
 * before, too. Returns the exit code.
 */
function judge(args) {
  const isNamed = args.some((arg) => !arg.startsWith('--'))
  const accepted = JSON.parse(readFileSync(ACCEPTED, 'utf8'))
  const report = JSON.parse(readFileSync(REPORT, 'utf8'))
  const measured = Object.entries(report.files).filter(([file]) => !isNamed || args.includes(file))
  const rows = measured.map(([file, { source, mutants }]) => {
    const missed = mutants
      .filter(({ status }) => MISSED.includes(status))
      .map((mutant) => ({ ...mutant, ...changeOf(source, mutant) }))
    const left = missed.filter(({ from, to }) => !isAccepted(accepted, { file, from, to }))
    const noticed = mutants.filter(({ status }) => NOTICED.includes(status)).length
    return {
      file,
      noticed,
      left,
      excused: missed.length - left.length,
      score: scoreOf(noticed, left),
    }
  })
  for (const { file, noticed, left, excused, score } of rows) {
    for (const { location, from, to } of left)
      print(`survived: ${file}:${location.start.line}\n- ${from}\n+ ${to}\n`)
    print(`${file}: ${score} %, ${noticed} noticed, ${left.length} survived, ${excused} accepted`)
  }
  const lower = rows.filter(({ file, score }) => score < (accepted.scores[file] ?? 0))
  for (const { file } of lower) print(`TOO LOW: ${file} had ${accepted.scores[file]} %`)
  if (args.includes('--accept')) accept(accepted, rows)
  return lower.length === 0 ? 0 : 1
}

/** In percent, cut to one decimal. */
function scoreOf(noticed, left) {
  return Math.floor((1000 * noticed) / Math.max(1, noticed + left.length)) / 10
}

function isAccepted({ survivors }, { file, from, to }) {
  return survivors.some((one) => one.file === file && one.from === from && one.to === to)
}

/** Returns the lines of a change, as they are and as they were tried. */
function changeOf(source, { location: { start, end }, replacement }) {
  const lines = source.split('\n').slice(start.line - 1, end.line)
  const before = lines[0].slice(0, start.column - 1)
  const after = lines.at(-1).slice(end.column - 1)
  return { from: lines.join('\n').trim(), to: `${before}${replacement}${after}`.trim() }
}

function accept(accepted, rows) {
  const scores = { ...accepted.scores }
  for (const { file, score } of rows) scores[file] = Math.max(score, scores[file] ?? 0)
  const sorted = Object.fromEntries(
    Object.entries(scores).sort(([one], [other]) => (one < other ? -1 : 1)),
  )
  writeFileSync(ACCEPTED, `${JSON.stringify({ ...accepted, scores: sorted }, undefined, 2)}\n`)
  const cells = Object.entries(sorted).map(([file, score]) => [
    `\`${file}\``,
    `${score.toFixed(1)} %`,
  ])
  writeTable(PAGE, 'mutation', ['file', 'changes noticed'], cells)
}
