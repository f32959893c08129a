// gatehouse demo: starts a whole local stack on loopback, takes a tour through it and serves until stopped.

import { isatty } from 'node:tty'
import { createFileProvider } from '../../control/sources/files/file-provider.js'
import { startReaderPool } from '../../control/sources/files/reader-pool.js'
import { errorText } from '../../kit/errors.js'
import { type Logger, wantsColour } from '../../kit/logger.js'
import type { Settings } from '../../ops/settings/settings.js'
import { createPrint, type Print } from '../demo/print.js'
import { Demo, type DemoStack } from '../demo/stack.js'
import { takeTour } from '../demo/tour.js'
import { takeLlmTour } from '../demo/tour-llm.js'
import { printWhatToTry } from '../demo/what-to-try.js'
import type { CommandIo, ExitCode } from './command-io.js'
import { startProblem } from './servers.js'
import { aborted, isStopping } from './stopping.js'

const STDOUT = 1

/** Runs the demo. If the tour fails, the stack stays up for inspection and the exit code is 1. */
export async function demo(settings: Settings, io: CommandIo): Promise<ExitCode> {
  const print = createPrint(io.out, isatty(STDOUT) && wantsColour(settings.environment))
  const stack = new Demo()
  io.atExit(() => stack.kill())
  const fatal = new AbortController()
  const until = AbortSignal.any([io.stop, fatal.signal])
  let code: ExitCode = 0
  try {
    const started = await start(stack, settings, io, { print, fatal })
    await started.ready(until)
    print.detail('gateway', started.origin)
    if (!settings.noTour && !(await tour(started, print, io.stop))) code = 1
    if (!until.aborted) printWhatToTry(started, print)
    await aborted(until)
    fatal.signal.throwIfAborted()
  } catch (error) {
    const cause: unknown = fatal.signal.aborted ? fatal.signal.reason : error
    if (!(await isStopping(io.stop))) {
      io.err(`gatehouse: ${problem(cause, settings)}\n`)
      code = 1
    }
  }
  if (stack.isUp) print.line('\nStopping …')
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
  print.heading('Gatehouse demo: a whole stack on this machine')
  return demo.start(settings, {
    logger,
    note: (sentence) => print.text(sentence),
    started: (party, where) => print.detail(party, where),
    provider: (folder) =>
      createFileProvider({
        paths: [folder],
        apiGroup: settings.apiGroup,
        reader: startReaderPool({ apiGroup: settings.apiGroup }),
        onWarning: (message) => logger.warn({}, message),
      }),
    onFatal: (error) => fatal.abort(error),
    stop: io.stop,
  })
}

/** Takes the tour and returns whether it succeeded. */
async function tour(stack: DemoStack, print: Print, stop: AbortSignal): Promise<boolean> {
  try {
    await takeTour(`${stack.origin}/mcp`, print)
    await takeLlmTour(stack.origin, stack.parties.model, print)
    return true
  } catch (error) {
    if (await isStopping(stop)) return true
    const what = errorText(error)
    print.trouble(`The tour ends here: ${what}`)
    print.line('The stack stays up to be looked at; the exit code will be 1.')
    return false
  }
}

/** Returns a logger for warnings and errors, to not clutter the tour; Envoy's warnings are left out. */
const troubleOnly = (logger: Logger): Logger => ({
  debug: () => undefined,
  info: () => undefined,
  warn: (fields, message) => {
    if (!message.startsWith('envoy: ')) logger.warn(fields, message)
  },
  error: (fields, message) => logger.error(fields, message),
})

/** Describes an error and its remedy. Only two ports can fail: the gateway's and a given --admin's. */
function problem(error: unknown, settings: Settings): string {
  const { code, address, port } = error as { code?: string; address?: string; port?: number }
  if (code === 'EADDRNOTAVAIL' && address === settings.listenAddress)
    return `${address} is not an address of this machine: choose another with --listen-address`
  const admin = settings.admin.type === 'tcp' ? settings.admin.port : undefined
  if (port === undefined || (settings.given.has('admin') && port === admin))
    return startProblem(error)
  const remedy = `choose another with ${portFlag(settings)}`
  if (code === 'EADDRINUSE')
    return `port ${String(port)} is in use by another process: stop it, or ${remedy}`
  if (code === 'EACCES') return `this user may not listen on port ${String(port)}: ${remedy}`
  return startProblem(error)
}

/** How to give --port: npm consumes flags unless "--" precedes them. */
const portFlag = ({ environment }: Settings): string =>
  environment['npm_lifecycle_event'] === 'demo' ? '"npm run demo -- --port N"' : '--port'
