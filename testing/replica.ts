// Runs `gatehouse serve --kubernetes` as one replica.

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { eventually } from './eventually.js'
import { freePort } from './ports.js'
import { MAIN, programAt } from './program.js'

export interface Replica {
  /** HOST:PORT or unix:PATH */
  readonly grpc: string
  /** Origin of the admin address. */
  readonly admin: string
  readonly child: ChildProcess
  /** Returns the answer of /readyz. */
  readiness(): Promise<{ readonly status: number; readonly text: string }>
  metrics(): Promise<string>
  /** The JSON of /status. */
  status(): Promise<string>
  /** Everything it has written to stderr. */
  log(): string
  stop(signal?: NodeJS.Signals): Promise<number | null>
}

export interface ReplicaOptions {
  readonly kubeconfig: string
  /** The main.js of another build. */
  readonly main?: string
  readonly flags?: readonly string[]
  readonly name?: string
  /** Name of the Lease; the default is Gatehouse's own. */
  readonly lease?: string
  /** The gRPC address instead of a loopback port, over which no private key is sent. */
  readonly grpc?: string
  /** Address that Envoys' listeners bind; the default is loopback. */
  readonly listenAddress?: string
  /** Do not wait for /readyz. */
  readonly unready?: boolean
  /** Variables in addition to the tests' environment. */
  readonly environment?: Readonly<Record<string, string>>
  /** A file to use as /etc/hosts. */
  readonly hosts?: string
  /** Maximum time to become ready, in milliseconds; the default is 30 s. */
  readonly patienceMs?: number
}

export async function startReplica(options: ReplicaOptions): Promise<Replica> {
  const grpc = options.grpc ?? `127.0.0.1:${String(await freePort())}`
  const adminAddress = `127.0.0.1:${String(await freePort())}`
  const statusAddress = `127.0.0.1:${String(await freePort())}`
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-replica-'))
  const tokenFile = join(folder, 'token')
  const addresses = [
    '--grpc',
    grpc,
    '--admin',
    adminAddress,
    '--listen-address',
    options.listenAddress ?? '127.0.0.1',
    '--status',
    statusAddress,
    '--admin-token-file',
    tokenFile,
  ]
  const build = programAt(options.main ?? MAIN)
  const own = [...build, 'serve', '--kubernetes', ...addresses, ...(options.flags ?? [])]
  const [program = '', ...args] = withHosts(options.hosts, [process.execPath, ...own])
  const child = spawn(program, args, {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: {
      ...process.env,
      KUBECONFIG: options.kubeconfig,
      POD_NAME: options.name ?? 'one',
      POD_NAMESPACE: 'default',
      ...options.environment,
      ...(options.lease !== undefined && { LEASE_NAME: options.lease }),
    },
  })
  let log = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => (log += text))
  const admin = `http://${adminAddress}`
  const readiness = async () => {
    const answer = await fetch(`${admin}/readyz`)
    return { status: answer.status, text: await answer.text() }
  }
  const replica: Replica = {
    grpc,
    admin,
    child,
    readiness,
    metrics: async () => (await fetch(`${admin}/metrics`)).text(),
    status: async () => {
      const token = (await readFile(tokenFile, 'utf8')).trim()
      const headers = { authorization: `Bearer ${token}` }
      return (await fetch(`http://${statusAddress}/status`, { headers })).text()
    },
    log: () => log,
    stop: async (signal = 'SIGTERM') => {
      if (child.exitCode === null && child.signalCode === null) {
        const end = once(child, 'close')
        child.kill(signal)
        await end
      }
      await rm(folder, { recursive: true, force: true })
      return child.exitCode
    },
  }
  try {
    await eventually(async () => {
      if (child.exitCode !== null) throw new Error(`it ended: ${log}`)
      const { status, text } = await readiness()
      if (status !== 200 && options.unready !== true) throw new Error(text)
    }, options.patienceMs ?? 30_000)
    return replica
  } catch (error) {
    await replica.stop('SIGKILL')
    throw error
  }
}

/** Wraps a command in a separate mount namespace with its own /etc/hosts. The program replaces the wrapper process. */
function withHosts(
  hosts: string | undefined,
  command: readonly string[],
): readonly [string, ...string[]] {
  const [program = '', ...args] = command
  if (hosts === undefined) return [program, ...args]
  const script = 'mount --bind "$0" /etc/hosts && exec "$@"'
  return ['unshare', '-m', 'sh', '-ec', script, hosts, ...command]
}
