// gatehouse run and gatehouse serve: run Gatehouse until it is stopped or fails fatally.

import { createFileProvider } from '../../control/sources/files/file-provider.js'
import { startReaderPool } from '../../control/sources/files/reader-pool.js'
import { type Logger, wantsColour } from '../../kit/logger.js'
import type { Settings } from '../../ops/settings/settings.js'
import { type App, type AppDeps, startApp } from '../app/app.js'
import type { Terminal } from '../report/start-report.js'
import { startKeeper } from '../run-envoy/keeper.js'
import type { CommandIo, ExitCode } from './command-io.js'
import { aborted, isStopping } from './stopping.js'

/** Runs `gatehouse run`, with an Envoy child. */
export const run = (settings: Settings, io: CommandIo): Promise<ExitCode> =>
  runServers(settings, io, true)

/** Runs `gatehouse serve`, for Envoys that run elsewhere. */
export const serve = (settings: Settings, io: CommandIo): Promise<ExitCode> =>
  runServers(settings, io, false)

async function runServers(settings: Settings, io: CommandIo, ownEnvoy: boolean): Promise<ExitCode> {
  const fatal = deferred()
  const app = await start(settings, io, { ownEnvoy, onFatal: fatal.settle })
  if (app === undefined) return io.stop.aborted ? 0 : 1
  io.atExit(() => app.kill())
  const error = await Promise.race([fatal.settled, aborted(io.stop)])
  const isFailed = error !== undefined && !(await isStopping(io.stop))
  await app.close()
  if (!isFailed) return 0
  io.err(`gatehouse: ${error.message}\n`)
  return 1
}

interface StartOptions {
  /** Whether to start an Envoy child. */
  readonly ownEnvoy: boolean
  readonly onFatal: (error: Error) => void
}

async function start(
  settings: Settings,
  io: CommandIo,
  options: StartOptions,
): Promise<App | undefined> {
  const { logger, stop } = io
  const keeper = options.ownEnvoy ? startKeeper(logger) : undefined
  try {
    const source = await sourceOf(settings, logger)
    const terminal = terminalOf(settings, io)
    return await startApp(settings, {
      logger,
      stop,
      keeper,
      terminal,
      onFatal: options.onFatal,
      ...source,
    })
  } catch (error) {
    if (await isStopping(stop)) logger.info({}, 'stopped while starting')
    else io.err(`gatehouse: ${startProblem(error)}\n`)
    return undefined
  }
}

/** Returns the terminal for what is served; undefined: nobody reads stdout on one. */
function terminalOf({ environment }: Settings, { terminal, out }: CommandIo): Terminal | undefined {
  if (terminal === undefined) return undefined
  return { ...terminal, hasColour: wantsColour(environment), write: out }
}

type Source = Pick<AppDeps, 'provider' | 'onRun' | 'mesh' | 'tokens'>

async function sourceOf(settings: Settings, logger: Logger): Promise<Source> {
  if (settings.kubernetes) {
    // Imported on demand: the Kubernetes library takes half a second to load.
    const { createCluster } = await import('../cluster/cluster.js')
    const cluster = createCluster(settings, logger)
    const { provider, mesh, tokens } = cluster
    return { provider, mesh, tokens, onRun: (state) => cluster.onRun(state) }
  }
  const provider = createFileProvider({
    paths: settings.resources,
    apiGroup: settings.apiGroup,
    requirePolicy: settings.requirePolicy,
    reader: startReaderPool({ apiGroup: settings.apiGroup }),
    onWarning: (message) => logger.warn({}, message),
  })
  return { provider }
}

/** Describes an error of the start, with a remedy where one is known. */
export function startProblem(error: unknown): string {
  const { code, message, hostname, ...at } = error as SystemError
  const isSocket = at.port === undefined || at.port < 0
  const where = isSocket ? (at.path ?? at.address) : `${at.address}:${at.port}`
  switch (code) {
    case 'EADDRINUSE':
      return `${where} is in use by another process: stop it, or choose another address with --admin or --grpc`
    case 'EADDRNOTAVAIL':
      return `${where} is not an address of this machine: choose another with --admin or --grpc`
    case 'EACCES':
      return `this user may not listen on ${where}: choose another address with --admin or --grpc`
    case 'ENOTFOUND':
      return `${hostname} is not a known host: choose another address with --admin or --grpc`
    default:
      return message
  }
}

/** Properties that Node adds to errors of listen. */
interface SystemError extends NodeJS.ErrnoException {
  readonly address?: string
  readonly port?: number
  readonly hostname?: string
}

function deferred(): { readonly settled: Promise<Error>; readonly settle: (error: Error) => void } {
  let settle: (error: Error) => void = () => undefined
  const settled = new Promise<Error>((resolve) => (settle = resolve))
  return { settled, settle: (error) => settle(error) }
}
