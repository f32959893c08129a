// gatehouse demo: a whole local stack on loopback, a tour through it, then up until it is asked to stop.

import { isatty } from 'node:tty'
import { createPrint, type Print } from '../demo/print.js'
import { Demo, type DemoStack } from '../demo/stack.js'
import { takeTour } from '../demo/tour.js'
import { printWhatToTry } from '../demo/what-to-try.js'
import type { Logger } from '../logger.js'
import { createFileProvider } from '../resources/file-provider.js'
import type { Settings } from '../settings.js'
import type { CommandIo, ExitCode } from './command-io.js'
import { startProblem } from './servers.js'

const STDOUT = 1
/** How lines of Envoy's own log begin in ours. */
const ENVOY_LINE = 'envoy: '

export async function demo(settings: Settings, io: CommandIo): Promise<ExitCode> {
  const print = createPrint(
    io.out,
    isatty(STDOUT) && settings.environment['NO_COLOR'] === undefined,
  )
  const stack = new Demo()
  io.atExit(() => stack.kill())
  const fatal = new AbortController()
  const until = AbortSignal.any([io.stop, fatal.signal])
  let code: ExitCode = 0
  try {
    await show(await start(stack, settings, io, { print, fatal }), { settings, print, until })
    await aborted(until)
    until.throwIfAborted()
  } catch (error) {
    if (fatal.signal.aborted || !io.stop.aborted) {
      const cause: unknown = fatal.signal.aborted ? fatal.signal.reason : error
      io.err(`gatehouse: ${problem(cause, settings)}\n`)
      code = 1
    }
  }
  print.line('\nStopping.')
  await stack.close()
  return code
}

interface Telling {
  readonly print: Print
  readonly fatal: AbortController
}

function start(
  demo: Demo,
  settings: Settings,
  io: CommandIo,
  { print, fatal }: Telling,
): Promise<DemoStack> {
  const logger = settings.given.has('logLevel') ? io.logger : troubleOnly(io.logger)
  print.line('Starting an identity provider, an MCP server, Gatehouse and Envoy on this machine.')
  return demo.start(settings, {
    logger,
    note: (sentence) => print.line(sentence),
    provider: (folder) =>
      createFileProvider({
        paths: [folder],
        apiGroup: settings.apiGroup,
        onWarning: (message) => logger.warn({}, message),
      }),
    onFatal: (error) => fatal.abort(error),
  })
}

interface Showing {
  readonly settings: Settings
  readonly print: Print
  readonly until: AbortSignal
}

async function show(stack: DemoStack, { settings, print, until }: Showing): Promise<void> {
  await stack.ready(until)
  const tokens = settings.noTour ? undefined : await takeTour(stack.origin, print)
  await printWhatToTry(stack, print, tokens)
}

/** Between the lines of the tour only what went wrong has a place. */
const troubleOnly = (logger: Logger): Logger => ({
  debug: () => undefined,
  info: () => undefined,
  warn: (fields, message) => {
    if (!message.startsWith(ENVOY_LINE)) logger.warn(fields, message)
  },
  error: (fields, message) => logger.error(fields, message),
})

function problem(error: unknown, settings: Settings): string {
  const { code, port } = error as { code?: string; port?: number }
  const admin = settings.admin.type === 'tcp' ? settings.admin.port : undefined
  if (port === undefined || port === admin) return startProblem(error)
  if (code === 'EADDRINUSE') {
    return `port ${String(port)} is in use by another process: stop it, or choose another with --port`
  }
  if (code === 'EACCES')
    return `this user may not listen on port ${String(port)}: choose another with --port`
  return startProblem(error)
}

const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve()
    signal.addEventListener('abort', () => resolve(), { once: true })
  })
