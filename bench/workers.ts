// npm run bench -- workers: measures the cost and throughput of checks with one, two and four workers. Writes its section
// of docs/performance.md.

import { readdirSync, readFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { availableParallelism, loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { startAnsweringServer } from './answering-server.js'
import { cpuTime } from './cpu-time.js'
import { runArguments } from './gatehouse.js'
import { load } from './load.js'
import { median } from './median.js'
import { backend, gatewayAt, gatewayClass, policy, route } from './objects.js'
import { freePort, type Party, run, stop, until, untilHolds } from './processes.js'
import { writeSections } from './sections.js'
import { machine, table } from './table.js'
import { AUDIENCE, ISSUER, type Keys, newKeys, newTokens } from './tokens.js'

const WORKERS = [1, 2, 4]
const ROUNDS = 5
const MILLISECONDS = 3_000
const CONNECTIONS = 64
/** The machine counts as idle below this load average. */
const IDLE_LOAD = 0.5

interface Stack {
  readonly workers: number
  readonly port: number
  readonly gatehouse: Party
}

interface Sample {
  readonly requestsPerSecond: number
  readonly p99: number
  /** CPU microseconds per check, over all processes of Gatehouse. */
  readonly cpu: number
  /** The busiest process's share of that CPU time. */
  readonly busiest: number
}

const say = (text: string): void => void process.stderr.write(`bench: ${text}\n`)

/** Ids of the processes of Gatehouse that answer checks. */
function checkers({ gatehouse: { pid }, workers }: Stack): readonly number[] {
  if (workers === 1) return [pid]
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((child) => {
      try {
        const [, parent] = readFileSync(`/proc/${String(child)}/stat`, 'utf8')
          .replace(/^.*\) /, '')
          .split(' ')
        const command = readFileSync(`/proc/${String(child)}/cmdline`, 'utf8')
        return Number(parent) === pid && command.includes('worker-main.js')
      } catch {
        return false
      }
    })
}

/** @param flags flags of `gatehouse run`. */
async function startStack(
  folder: string,
  keys: Keys,
  workers: number,
  flags: readonly string[],
  backendPort: number,
): Promise<Stack> {
  const port = await freePort()
  const admin = `127.0.0.1:${String(await freePort())}`
  const resources = join(folder, `${String(port)}.json`)
  const jwks = { inline: JSON.stringify(keys.jwks) }
  const traffic = {
    jwtAuthentication: { providers: [{ issuer: ISSUER, audiences: [AUDIENCE], jwks }] },
  }
  const items = [
    gatewayClass,
    gatewayAt(port),
    route('mcp'),
    backend('mcp', backendPort),
    policy('mcp', { traffic }),
  ]
  await writeFile(resources, JSON.stringify({ kind: 'List', apiVersion: 'v1', items }))
  const gatehouse = run(process.execPath, [
    ...(await runArguments(resources, admin)),
    '--workers',
    String(workers),
    '--log-level',
    'error',
    ...flags,
  ])
  await until(`http://${admin}/readyz`, 60_000)
  return { workers, port, gatehouse }
}

async function measureOnce(stack: Stack, token: string): Promise<Sample> {
  const request = `GET /mcp HTTP/1.1\r\nhost: bench\r\nauthorization: Bearer ${token}\r\n\r\n`
  const pids = [...new Set([stack.gatehouse.pid, ...checkers(stack)])]
  const before = pids.map(cpuTime)
  const { requests, requestsPerSecond, p99 } = await load({
    port: stack.port,
    connections: CONNECTIONS,
    milliseconds: MILLISECONDS,
    nextRequest: () => request,
  })
  const used = pids.map((pid, index) => cpuTime(pid) - (before[index] ?? 0))
  const all = used.reduce((sum, one) => sum + one, 0)
  return {
    requestsPerSecond,
    p99,
    cpu: all / requests,
    busiest: Math.max(...used) / all,
  }
}

/** Measures the stacks in turns, so that other load on the machine affects all of them alike. */
async function measureAll(stacks: readonly Stack[], token: string): Promise<readonly Sample[][]> {
  const samples: Sample[][] = stacks.map(() => [])
  for (let round = 0; round <= ROUNDS; round += 1)
    for (const [index, stack] of stacks.entries()) {
      const sample = await measureOnce(stack, token)
      // The first round warms up.
      if (round > 0) samples[index]?.push(sample)
    }
  return samples
}

async function measureKind(
  alg: string,
  flags: readonly string[],
  backendPort: number,
): Promise<readonly (readonly string[])[]> {
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-bench-'))
  const keys = await newKeys(alg)
  const [token = ''] = await newTokens(keys, 1)
  const stacks: Stack[] = []
  try {
    for (const workers of WORKERS)
      stacks.push(await startStack(folder, keys, workers, flags, backendPort))
    const samples = await measureAll(stacks, token)
    return samples.map((own, index) => row(WORKERS[index] ?? 0, own))
  } finally {
    for (const { gatehouse } of stacks) gatehouse.child.kill('SIGTERM')
    await untilHolds(
      () => Promise.resolve(stacks.every(({ gatehouse }) => gatehouse.child.exitCode !== null)),
      30_000,
      'every Gatehouse has ended',
    ).catch(() => stop(stacks.map(({ gatehouse }) => gatehouse)))
    await rm(folder, { recursive: true })
  }
}

function row(workers: number, samples: readonly Sample[]): readonly string[] {
  const of = (value: (sample: Sample) => number): number => median(samples.map(value))
  const rates = samples.map(({ requestsPerSecond }) => requestsPerSecond)
  return [
    String(workers),
    `${of(({ requestsPerSecond }) => requestsPerSecond).toFixed(0)} (${Math.min(...rates).toFixed(0)}–${Math.max(...rates).toFixed(0)})`,
    `${of(({ p99 }) => p99).toFixed(1)} ms`,
    `${of(({ cpu }) => cpu).toFixed(0)} µs`,
    `${(of(({ busiest }) => busiest) * 100).toFixed(0)} %`,
  ]
}

const HEAD = ['workers', 'requests/s (least–most)', 'p99', 'CPU for a check', 'busiest process']

/** A sentence about the load average before the benchmark; empty if the machine was idle. */
const otherLoad = (busy: number): string =>
  busy < IDLE_LOAD
    ? ''
    : ` Other programs were running at the start: the load average was ${busy.toFixed(1)} on ${String(availableParallelism())} processors.`

async function main(): Promise<void> {
  const busy = loadavg()[0] ?? 0
  const answering = await startAnsweringServer()
  say('each token verified')
  const verified = await measureKind('ES384', ['--remembered-tokens', '0'], answering.port)
  say('remembered tokens')
  const remembered = await measureKind('RS256', [], answering.port)
  answering.close()
  const text = `## Workers

\`npm run bench -- workers\` wrote this section: \`gatehouse run --workers N\` with its Envoy, whose load, backend and client share the
machine with it, ${String(CONNECTIONS)} connections; ${String(ROUNDS)} rounds of ${String(MILLISECONDS / 1000)} s in turns, medians. CPU is that of all processes of Gatehouse. The busiest process
shows how evenly Envoy spreads requests: 1/N would be even.

A token that is verified at each request (ES384, \`--remembered-tokens 0\`), so that Gatehouse has most of the work:

${table(HEAD, verified)}

A remembered token, where Envoy, the client and the backend have most of it:

${table(HEAD, remembered)}

${machine()}${otherLoad(busy)} Where no
processor is free, more workers bring no more requests, and each is woken for fewer of them at a time, which costs.
`
  await writeSections(text)
  process.stdout.write(text)
}

await main()
