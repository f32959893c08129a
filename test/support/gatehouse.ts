// Runs Gatehouse as users do: a process of its own, with a folder of resources.

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach } from 'vitest'
import type { ReportedResource, StatusReport } from '../../src/ops/admin/status-report.js'
import { eventually } from '../../testing/eventually.js'
import { freePort } from '../../testing/ports.js'
import { MAIN } from '../../testing/program.js'
import { toYaml } from './resources.js'

const READY_MS = 30_000

export type StatusEntry = ReportedResource

export interface Gatehouse {
  /** Origin of the admin address. */
  readonly admin: string
  readonly folder: string
  readonly child: ChildProcess
  /** Writes a file into the resources folder by an atomic rename. */
  write(file: string, ...documents: readonly object[]): Promise<void>
  writeText(file: string, text: string): Promise<void>
  remove(file: string): Promise<void>
  status(): Promise<readonly StatusEntry[]>
  /** All of /status. */
  report(): Promise<StatusReport>
  metrics(): Promise<string>
  /** Everything it has written to stderr. */
  log(): string
  /** Everything it and its Envoy have written to stdout. */
  output(): string
  /** Waits until it has ended by itself, with everything that it has written; returns the exit code. */
  ended(): Promise<number | null>
  /** Sends SIGTERM (or another signal), waits for the end and returns the exit code. */
  stop(signal?: NodeJS.Signals): Promise<number | null>
  /** Stops it and removes its folders. */
  close(): Promise<void>
}

export interface GatehouseOptions {
  readonly command: 'run' | 'serve'
  readonly resources: readonly object[]
  readonly flags: readonly string[]
  readonly environment?: Readonly<Record<string, string>>
  readonly unready?: boolean
  readonly stdout?: number
  /** A command that runs its arguments; the first is the folder of the resources. */
  readonly within?: readonly [string, ...string[]]
  readonly adminPort?: number
}

export async function startGatehouse(options: GatehouseOptions): Promise<Gatehouse> {
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-test-'))
  await writeFile(join(folder, 'resources.yaml'), toYaml(...options.resources))
  const adminAddress = `127.0.0.1:${String(options.adminPort ?? (await freePort()))}`
  const args = ['--resources', folder, '--admin', adminAddress, ...options.flags]
  const around = options.within === undefined ? [] : [...options.within, folder]
  const [program, ...command] = [...around, process.execPath, MAIN, options.command, ...args]
  const child = spawn(program ?? '', command, {
    stdio: ['ignore', options.stdout ?? 'pipe', 'pipe'],
    env: { ...process.env, ...options.environment },
  })
  const gatehouse = handle(child, folder, `http://${adminAddress}`)
  if (options.unready === true) return gatehouse
  try {
    await eventually(() => ready(gatehouse), READY_MS)
  } catch (failure) {
    await gatehouse.close()
    throw new Error(`not ready: ${String(failure)}\n${gatehouse.log()}`)
  }
  return gatehouse
}

async function ready({ admin, child }: Gatehouse): Promise<void> {
  if (child.exitCode !== null) throw new Error(`it ended with ${String(child.exitCode)}`)
  const answer = await fetch(`${admin}/readyz`)
  if (answer.status !== 200) throw new Error(`${String(answer.status)} ${await answer.text()}`)
}

const open = new Set<Gatehouse>()
/** Characters of a log that are shown when a test fails. */
const LOG_END = 4_000

/** Shows the end of each log when a test fails: nothing else explains one that fails only now and then. */
export function showLogsOfFailures(): void {
  afterEach(({ task }) => {
    if (task.result?.state !== 'fail') return
    for (const one of open)
      process.stderr.write(`Log of ${one.folder}, its end:\n${one.log().slice(-LOG_END)}\n`)
  })
}

function handle(child: ChildProcess, folder: string, admin: string): Gatehouse {
  let log = ''
  let output = ''
  child.stderr?.setEncoding('utf8').on('data', (text: string) => (log += text))
  child.stdout?.setEncoding('utf8').on('data', (text: string) => (output += text))
  const get = async (path: string): Promise<string> => (await fetch(admin + path)).text()
  const report = async (): Promise<StatusReport> => JSON.parse(await get('/status')) as StatusReport
  const writeText = async (file: string, text: string): Promise<void> => {
    const draft = join(folder, `.${file}.draft`)
    await writeFile(draft, text)
    await rename(draft, join(folder, file))
  }
  const closed = once(child, 'close')
  const stop = async (signal: NodeJS.Signals = 'SIGTERM'): Promise<number | null> => {
    if (child.exitCode === null && child.signalCode === null) child.kill(signal)
    return ended()
  }
  const ended = async (): Promise<number | null> => {
    await closed
    return child.exitCode
  }
  const gatehouse: Gatehouse = {
    admin,
    folder,
    child,
    writeText,
    write: (file, ...documents) => writeText(file, toYaml(...documents)),
    remove: (file) => rm(join(folder, file)),
    report,
    status: async () => (await report()).resources,
    metrics: () => get('/metrics'),
    log: () => log,
    output: () => output,
    ended,
    stop,
    close: async () => {
      open.delete(gatehouse)
      await stop()
      await rm(folder, { recursive: true, force: true })
    },
  }
  open.add(gatehouse)
  return gatehouse
}
