// Program of a worker: carries out the messages of the main process. Ends with the main process, however that ended,
// and after an unhandled error.

import type { Socket } from 'node:net'
import { startWorker, type Worker } from './cli/app/worker.js'
import type { FromWorker, ToWorker, WorkerStart } from './control/workers/messages.js'
import { errorText } from './kit/errors.js'
import { createLogger, type Logger, wantsColour } from './kit/logger.js'

type Message = Exclude<ToWorker, { readonly type: 'start' }>

/** Sends a message and ignores errors: when the main process is gone, 'disconnect' ends this process. */
function post(message: FromWorker): void {
  process.send?.(message, undefined, {}, () => undefined)
}

// Signals are ignored: the main process decides what to do about them.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined)
process.on('disconnect', () => process.exit())
for (const output of [process.stdout, process.stderr]) output.on('error', () => undefined)

let worker: Worker | undefined
/** Messages that arrived before the worker had started. */
const early: { readonly message: Message; readonly socket: Socket | undefined }[] = []

process.on('message', (message: ToWorker, handle: unknown) => {
  if (message.type === 'start') return void start(message.start)
  const socket = handle as Socket | undefined
  if (worker === undefined) early.push({ message, socket })
  else worker.receive(message, socket)
})

async function start(options: WorkerStart): Promise<void> {
  const logger = createLogger({
    level: options.settings.logLevel,
    pretty: process.stderr.isTTY,
    hasColour: wantsColour(options.settings.environment),
    fields: { worker: options.worker },
    write: (text) => process.stderr.write(text),
  })
  endAtBugs(logger)
  try {
    worker = await startWorker(options, { logger, post, onDrained: () => process.exit() })
  } catch (error) {
    process.send?.({ type: 'failed', message: errorText(error) }, undefined, {}, () =>
      process.exit(1),
    )
    return
  }
  for (const { message, socket } of early.splice(0)) worker.receive(message, socket)
  await worker.tablesTaken()
  post({ type: 'ready' })
}

/** Ends the worker after an unhandled error; the main process starts another one. */
function endAtBugs(logger: Logger): void {
  const onBug = (err: unknown): void => {
    logger.error({ err }, 'unhandled error, the worker exits')
    process.exit(1)
  }
  process.on('unhandledRejection', onBug)
  process.on('uncaughtException', onBug)
}
