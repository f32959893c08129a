// Runs commands as steps: a line when one begins and ends, its log only if it fails, a table of minutes at the end.

import { spawn } from 'node:child_process'
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { SetupError } from './setup-error.mjs'
import { root } from './stale.mjs'

const print = (text) => process.stdout.write(`${text}\n`)
const minutes = (ms) => (ms / 60_000).toFixed(1)

/**
 * Runs the steps that the arguments name, or all. Resolves to an exit code.
 * @param command how a user calls this, for the help.
 * @param steps in their order, each with its name, what it runs in words, and `run`, a command of the shell; `before`, a
 *   command, belongs to the set-up; `env` are further variables; steps of different `lane`s run beside each other, those
 *   without one after all of them.
 * @param names arguments of the command: steps or lanes.
 */
export async function runSteps({ command, steps, names }) {
  if (names.includes('--help')) {
    print(`${command} [STEP…]: runs all steps, or some.\n`)
    for (const { name, what } of steps) print(row(steps, name, what))
    for (const lane of lanesOf(steps))
      print(row(steps, lane, `all of its lane: ${inLane(steps, lane)}`))
    return 0
  }
  const unknown = names.find((one) => !steps.some(({ name, lane }) => [name, lane].includes(one)))
  if (unknown !== undefined) throw new SetupError(`no step "${unknown}": see ${command} --help`)
  const isChosen = ({ name, lane }) => [name, lane].some((one) => names.includes(one))
  const chosen = steps.filter((step) => names.length === 0 || isChosen(step))
  const before = chosen.map((step) => step.before).filter((one) => one !== undefined)
  const setUp = { name: 'set up', run: ['npm run setup', ...before].join(' && ') }
  return new Run([setUp, ...chosen]).result()
}

const lanesOf = (steps) =>
  [...new Set(steps.map(({ lane }) => lane))].filter((lane) => lane !== undefined)

const inLane = (steps, lane) =>
  steps
    .filter((step) => step.lane === lane)
    .map(({ name }) => name)
    .join(', ')

const row = (steps, name, text) =>
  `${name.padEnd(Math.max(...steps.map((step) => step.name.length)))}  ${text}`

class Run {
  constructor(steps) {
    this.steps = steps
    /** What has run, in the order of its end. */
    this.results = []
    /** Stays when a step fails. */
    this.logs = mkdtempSync(join(tmpdir(), 'gatehouse-steps-'))
    this.begin = Date.now()
    endWithThis()
  }

  async result() {
    const [setUp, ...steps] = this.steps
    await this.runStep(setUp)
    const runLane = (lane) => this.runAll(steps.filter((step) => step.lane === lane))
    await Promise.all(lanesOf(steps).map(runLane))
    await runLane(undefined)
    return this.report()
  }

  async runAll(steps) {
    for (const step of steps) if (!this.hasFailed()) await this.runStep(step)
  }

  hasFailed() {
    return this.results.some(({ code }) => code !== 0)
  }

  say(name, text) {
    print(`${new Date().toTimeString().slice(0, 8)}  ${row(this.steps, name, text)}`)
  }

  async runStep({ name, run, env = {} }) {
    this.say(name, 'begins')
    const begin = Date.now()
    const path = join(this.logs, `${name.replace(' ', '-')}.log`)
    const code = await codeOf(run, env, path)
    const ms = Date.now() - begin
    this.results.push({ name, code, ms })
    const end = code === 0 ? 'passed' : 'FAILED'
    this.say(name, `${end} in ${minutes(ms)} min${code === 0 ? '' : `: ${run}`}`)
    if (code !== 0) print(`${readFileSync(path, 'utf8')}\n(the log of ${name})`)
  }

  /** Prints the minutes of each step and how many passed. Returns the exit code. */
  report() {
    print('')
    for (const { name, code, ms } of this.results)
      print(row(this.steps, name, `${minutes(ms)} min${code === 0 ? '' : ', FAILED'}`))
    const isOver = ({ name }) => this.results.some((result) => result.name === name)
    for (const { name } of this.steps.filter((step) => !isOver(step)))
      print(row(this.steps, name, 'not begun'))
    print(`${row(this.steps, 'in all', `${minutes(Date.now() - this.begin)} min`)}\n`)
    if (this.hasFailed()) print(`logs: ${this.logs}`)
    else rmSync(this.logs, { recursive: true })
    const failed = this.results.filter(({ code }) => code !== 0).length
    print(`${this.results.length - failed} passed, ${failed} failed`)
    return failed === 0 ? 0 : 1
  }
}

const running = new Set()

/** Runs a command of the shell, in a process group of its own; its output goes to the file. Resolves to its exit code. */
function codeOf(command, env, path) {
  const log = openSync(path, 'w')
  const child = spawn('sh', ['-ec', command], {
    cwd: root,
    stdio: ['ignore', log, log],
    detached: true,
    env: { ...process.env, ...env },
  })
  closeSync(log)
  running.add(child)
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (code) => {
      running.delete(child)
      resolve(code ?? 1)
    })
  })
}

/** A signal that ends this process ends what it has started. */
function endWithThis() {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'])
    process.once(signal, () => {
      for (const { pid } of running) process.kill(-pid, signal)
      process.exit(1)
    })
}
