// gatehouse run and gatehouse serve: settings → Gatehouse, until it is asked to stop or something fatal fails.

import { startApp, type App } from '../app.js'
import { createFileProvider } from '../resources/file-provider.js'
import type { Settings } from '../settings.js'
import type { CommandIo, ExitCode } from './command-io.js'

/** ownEnvoy: with an Envoy child. */
export async function runServers(
  settings: Settings,
  io: CommandIo,
  ownEnvoy: boolean,
): Promise<ExitCode> {
  const fatal = deferred()
  const app = await start(settings, io, { ownEnvoy, onFatal: fatal.settle })
  if (app === undefined) return 1
  io.atExit(() => app.kill())
  const error = await Promise.race([fatal.settled, aborted(io.stop)])
  await app.close()
  if (error === undefined) return 0
  io.err(`gatehouse: ${error.message}\n`)
  return 1
}

interface StartOptions {
  readonly ownEnvoy: boolean
  readonly onFatal: (error: Error) => void
}

async function start(
  settings: Settings,
  io: CommandIo,
  options: StartOptions,
): Promise<App | undefined> {
  const { logger } = io
  const provider = createFileProvider({
    paths: settings.resources,
    apiGroup: settings.apiGroup,
    onWarning: (message) => logger.warn({}, message),
  })
  try {
    return await startApp(settings, { logger, provider, ...options })
  } catch (error) {
    io.err(`gatehouse: ${startProblem(error)}\n`)
    return undefined
  }
}

/** What the system says → what a person can do about it. */
export function startProblem(error: unknown): string {
  const { code, message, address, port, path } = error as NodeJS.ErrnoException & {
    readonly address?: string
    readonly port?: number
  }
  const where = path ?? address ?? (port === undefined ? message : `${address ?? ''}:${port}`)
  if (code === 'EADDRINUSE')
    return `${port === undefined ? where : `${address ?? ''}:${port}`} is in use by another process: stop it, or choose another address with --admin or --grpc`
  if (code === 'EACCES') return `${where} may not be used by this user: choose another address`
  if (code === 'EADDRNOTAVAIL')
    return `${where} is not an address of this machine: choose another with --admin or --grpc`
  return message
}

function deferred(): { readonly settled: Promise<Error>; readonly settle: (error: Error) => void } {
  let settle: (error: Error) => void = () => undefined
  const settled = new Promise<Error>((resolve) => (settle = resolve))
  return { settled, settle: (error) => settle(error) }
}

const aborted = (signal: AbortSignal): Promise<undefined> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve(undefined)
    signal.addEventListener('abort', () => resolve(undefined), { once: true })
  })
