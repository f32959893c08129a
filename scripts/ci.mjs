// .ci/run: everything that must hold before a change lands, step by step. `.ci/run STEP…` runs only those steps,
// `.ci/run --help` lists them.

import { spawn } from 'node:child_process'
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { runScript } from './runtime.mjs'
import { SetupError } from './setup-error.mjs'
import { root } from './stale.mjs'

/**
 * The steps in their order. `before` belongs to the set-up. They run one after the other: in two at once, on two cores,
 * more programs start at a time than the waits of the tests allow for.
 */
const STEPS = [
  { name: 'check', what: 'types, lint, format', run: 'npm run check' },
  { name: 'test', what: 'the tests of the README', run: 'npm test' },
  {
    name: 'oldest',
    what: 'the unit tests on the oldest Node',
    before: 'GATEHOUSE_NODE=oldest npm run setup',
    run: 'GATEHOUSE_NODE=oldest npm run test:unit',
  },
  {
    name: 'containers',
    what: 'both images, both compose stacks',
    run: 'npm run test:containers',
  },
  {
    name: 'wycheproof',
    what: "Wycheproof's vectors",
    run: 'npm run test:conformance',
  },
  {
    name: 'parties',
    what: 'Keycloak, a browser, the MCP Inspector, MCP conformance, LiteLLM, Presidio, h2spec, grpc-go',
    before: 'node scripts/parties-packages.mjs',
    run: 'npm run test:parties',
  },
  {
    name: 'kubernetes',
    what: 'a real API server, the Helm chart and the manifests',
    run: 'npm run test:kubernetes',
  },
  {
    name: 'gateway-api',
    what: 'its conformance suite, core and claimed features',
    run: 'npm run test:gateway-api',
  },
  { name: 'mesh', what: 'a real Envoy Gateway, a real istiod', run: 'npm run test:mesh' },
  {
    name: 'fresh',
    what: 'generated files and goldens are as committed',
    run: 'git diff --exit-code && git status --short && test -z "$(git status --porcelain)"',
  },
]
const LONGEST_NAME = Math.max(...STEPS.map(({ name }) => name.length))

const print = (text) => process.stdout.write(`${text}\n`)
const row = (name, text) => `${name.padEnd(LONGEST_NAME)}  ${text}`
const say = (name, text) => print(`${new Date().toTimeString().slice(0, 8)}  ${row(name, text)}`)

const minutes = (ms) => (ms / 60_000).toFixed(1)

/** What has run, in the order of its end. */
const results = []
const hasFailed = () => results.some(({ code }) => code !== 0)
const running = new Set()
/** Folder of the steps' logs, which stays when a step fails. */
let logs

await runScript(async () => {
  const names = process.argv.slice(2)
  if (names.includes('--help')) {
    print('.ci/run [STEP…]: runs all steps, or some.\n')
    for (const { name, what } of STEPS) print(row(name, what))
    return 0
  }
  const unknown = names.find((name) => !STEPS.some((step) => step.name === name))
  if (unknown !== undefined) throw new SetupError(`no step "${unknown}": see .ci/run --help`)
  const isChosen = ({ name }) => names.length === 0 || names.includes(name)
  const begin = Date.now()
  const steps = await runAll(STEPS.filter(isChosen))
  return report(steps, Date.now() - begin)
})

/** Resolves to the steps that there are. */
async function runAll(chosen) {
  endWithThis()
  logs = mkdtempSync(join(tmpdir(), 'gatehouse-ci-'))
  const left = chosen.filter(({ when }) => when !== undefined && !when())
  for (const { name } of left) say(name, 'is left out: its data are not here')
  const steps = chosen.filter((step) => !left.includes(step))
  const before = steps.map((step) => step.before).filter((command) => command !== undefined)
  await runStep({ name: 'set up', run: ['npm run setup', ...before].join(' && ') })
  for (const step of steps) if (!hasFailed()) await runStep(step)
  return steps
}

async function runStep({ name, run }) {
  say(name, 'begins')
  const begin = Date.now()
  const path = join(logs, `${name.replace(' ', '-')}.log`)
  const code = await codeOf(run, path)
  const ms = Date.now() - begin
  results.push({ name, code, ms })
  say(name, code === 0 ? `passed in ${minutes(ms)} min` : `FAILED in ${minutes(ms)} min: ${run}`)
  if (code !== 0) print(`${readFileSync(path, 'utf8')}\n(the log of ${name})`)
}

/** Runs a command of the shell, in a process group of its own; its output goes to the file. Resolves to its exit code. */
function codeOf(command, path) {
  const log = openSync(path, 'w')
  const stdio = ['ignore', log, log]
  const child = spawn('sh', ['-ec', command], { cwd: root, stdio, detached: true })
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

/** Prints the minutes of each step and how many passed. Returns the exit code. */
function report(steps, ms) {
  print('')
  for (const result of results)
    print(row(result.name, `${minutes(result.ms)} min${result.code === 0 ? '' : ', FAILED'}`))
  const isOver = ({ name }) => results.some((result) => result.name === name)
  for (const { name } of steps.filter((step) => !isOver(step))) print(row(name, 'not begun'))
  print(`${row('in all', `${minutes(ms)} min`)}\n`)
  if (hasFailed()) print(`logs: ${logs}`)
  else rmSync(logs, { recursive: true })
  const failed = results.filter(({ code }) => code !== 0).length
  print(`${results.length - failed} passed, ${failed} failed`)
  return failed === 0 ? 0 : 1
}
