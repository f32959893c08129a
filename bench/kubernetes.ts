// From a change in the API server to its effect in Envoy, among N routes and policies of a cluster. Writes
// docs/performance-kubernetes.md. Run by scripts/bench-kubernetes.mjs, in a network namespace of its own.

import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { parse } from 'yaml'
import { startEnvoy, type EnvoyChild } from '../src/envoy/child.js'
import type { JsonObject } from '../src/ir/json.js'
import { startApiServer, type ApiServer } from '../test/kubernetes/support/api-server.js'
import { startReplica, type Replica } from '../test/kubernetes/support/replica.js'
import { eventually } from '../test/support/eventually.js'
import { freePort } from '../test/support/ports.js'
import { clusterObjects, PATHS, policyOf, routeOf } from './cluster-objects.js'
import { cpuTime } from './cpu-time.js'
import { table } from './table.js'

const COUNTS = [10, 100, 1_000, 5_000]
const CHANGES = 10
const AT_ONCE = 16
const PATIENCE_MS = 120_000

interface Row {
  readonly count: number
  /** Milliseconds from the start of the process to /readyz saying 200. */
  readonly ready: number
  /** Milliseconds from the call of the API server to the first answer by the new rule: medians. */
  readonly route: number
  readonly policy: number
  /** Milliseconds of CPU that a change costs Gatehouse: the median. */
  readonly cpu: number
  /** Megabytes (RSS), after all of it. */
  readonly memory: number
}

const quiet = { debug() {}, info() {}, warn() {}, error() {} }

const api = await startApiServer()
const port = await freePort()
const rows: Row[] = []
let made = 0
try {
  await api.apply(...clusterObjects(port))
  for (const count of COUNTS) {
    process.stderr.write(`${String(count)} routes and policies\n`)
    await makeMore(api, count)
    rows.push(await measure(api, count))
  }
} finally {
  await api.close()
}
writeFileSync('docs/performance-kubernetes.md', report(rows))

async function makeMore(server: ApiServer, count: number): Promise<void> {
  const indexes = [...Array(count - made).keys()].map((index) => made + index)
  made = count
  const work = async (): Promise<void> => {
    for (let index = indexes.pop(); index !== undefined; index = indexes.pop())
      await server.apply(routeOf(index, ''), policyOf(index, 'true'))
  }
  await Promise.all(Array.from({ length: AT_ONCE }, work))
}

async function measure(server: ApiServer, count: number): Promise<Row> {
  const began = performance.now()
  const replica = await startReplica({
    kubeconfig: await server.kubeconfig(),
    patienceMs: PATIENCE_MS,
  })
  const ready = performance.now() - began
  const envoy = await startGateway(replica)
  const pid = replica.child.pid ?? 0
  try {
    await eventually(() => expectAnswer(routePath(count - 1, ''), 302), PATIENCE_MS)
    // What was found unwritten is written first.
    await untilIdle(pid)
    const costs: number[] = []
    const changes = async (change: (step: number) => Promise<number>): Promise<number> => {
      const times: number[] = []
      for (let step = 0; step < CHANGES; step += 1) {
        const before = cpuTime(pid)
        times.push(await change(step))
        await untilIdle(pid)
        costs.push((cpuTime(pid) - before) / 1_000)
      }
      return median(times)
    }
    const route = await changes((step) => changeRoute(server, step % count, `-${String(step)}`))
    const policy = await changes((step) => changePolicy(server, step % count))
    return { count, ready, route, policy, cpu: median(costs), memory: memoryOf(pid) }
  } finally {
    await envoy.stop()
    await replica.stop()
    await restore(server)
  }
}

function routePath(index: number, version: string): string {
  return `${PATHS}${String(index)}${version}`
}

async function changeRoute(server: ApiServer, index: number, version: string): Promise<number> {
  const began = performance.now()
  await server.apply(routeOf(index, version))
  await eventually(() => expectAnswer(routePath(index, version), 302), PATIENCE_MS)
  return performance.now() - began
}

async function changePolicy(server: ApiServer, index: number): Promise<number> {
  const path = routePath(index, `-${String(index)}`)
  const began = performance.now()
  await server.apply(policyOf(index, 'false'))
  await eventually(() => expectAnswer(path, 403), PATIENCE_MS)
  return performance.now() - began
}

async function restore(server: ApiServer): Promise<void> {
  for (let index = 0; index < Math.min(CHANGES, made); index += 1)
    await server.apply(routeOf(index, ''), policyOf(index, 'true'))
}

async function expectAnswer(path: string, status: number): Promise<void> {
  const answer = await fetch(`http://127.0.0.1:${String(port)}${path}`, { redirect: 'manual' })
  await answer.arrayBuffer()
  if (answer.status !== status) throw new Error(`${path}: ${String(answer.status)}`)
}

async function startGateway({ grpc }: Replica): Promise<EnvoyChild> {
  const admin = `127.0.0.1:${String(await freePort())}`
  const args = ['dist/main.js', 'bootstrap', '--grpc', grpc, '--envoy-admin', admin]
  const bootstrap = parse(execFileSync(process.execPath, args, { encoding: 'utf8' })) as JsonObject
  const envoyPath = process.env['GATEHOUSE_TEST_ENVOY'] ?? 'envoy'
  return startEnvoy({ envoyPath, bootstrap, logger: quiet, concurrency: 1 })
}

/** Until it has used no CPU for a while. */
async function untilIdle(pid: number): Promise<void> {
  for (let before = -1; before !== cpuTime(pid);) {
    before = cpuTime(pid)
    await new Promise((resolve) => setTimeout(resolve, 300))
  }
}

function memoryOf(pid: number): number {
  return Number(execFileSync('ps', ['-o', 'rss=', '-p', String(pid)], { encoding: 'utf8' })) / 1024
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0
}

function report(measured: readonly Row[]): string {
  const ms = (value: number): string => `${value.toFixed(0)} ms`
  const cells = measured.map(({ count, ready, route, policy, cpu, memory }) => [
    count.toLocaleString('en'),
    ms(ready),
    ms(route),
    ms(policy),
    ms(cpu),
    `${memory.toFixed(0)} MB`,
  ])
  const heads = [
    'routes and policies',
    'start to ready',
    'a route',
    'a policy',
    'CPU of a change',
    'memory',
  ]
  return `# Performance in a cluster

\`npm run bench:kubernetes\` wrote this page: one API server, one replica and one Envoy on one machine. "A route" and "a policy" are
the times from the call that changes one to Envoy's first answer by it (median of ${String(CHANGES)}); the call itself, the watch, a pause
of 30 ms in which more changes are waited for, translation, ADS and Envoy are all in it. CPU is Gatehouse's, with the status that is written.

${table(heads, cells)}

Measured with Node ${process.versions.node} on ${cpus()[0]?.model ?? 'an unknown processor'} (${String(cpus().length)} cores), which all of them share.
`
}
