#!/usr/bin/env -S node --max-semi-space-size=16 --heap-growing-percent=150 --no-allocation-site-pretenuring
// The program: runs the command that the arguments name, stops it at signals and sets the exit code. Commands reach the
// process only through it.

import { readFile } from 'node:fs/promises'
import type { Writable } from 'node:stream'
import type { CommandIo, ExitCode } from './cli/commands/command-io.js'
import { errorText } from './kit/errors.js'
import { createLogger, type Logger, wantsColour } from './kit/logger.js'
import { ownFile } from './kit/own-files.js'
import type { CommandName } from './ops/settings/commands.js'
import { ownEnvironment, parseCommandLine, type Settings } from './ops/settings/settings.js'

type Command = (settings: Settings, io: CommandIo) => Promise<ExitCode>

// Loaded on demand: `crds` need not load a gRPC server.
const COMMANDS: Readonly<Record<CommandName, () => Promise<Command>>> = {
  run: async () => (await import('./cli/commands/servers.js')).run,
  serve: async () => (await import('./cli/commands/servers.js')).serve,
  demo: async () => (await import('./cli/commands/demo.js')).demo,
  check: async () => (await import('./cli/commands/check.js')).check,
  explain: async () => (await import('./cli/commands/explain.js')).explainRequest,
  translate: async () => (await import('./cli/commands/translate.js')).translate,
  bootstrap: async () => (await import('./cli/commands/bootstrap.js')).bootstrap,
  crds: async () => (await import('./cli/commands/crds.js')).crds,
  schema: async () => (await import('./cli/commands/schema.js')).schema,
}

/** Commands whose standard output has logs, not results. */
const SERVERS: readonly string[] = ['run', 'serve']

// Time that a command has to close after an unhandled error.
const FATAL_CLOSE_MS = 5_000

/** Oldest supported Node: "engines" in package.json. */
const OLDEST_NODE = [22, 19] as const

async function main(): Promise<ExitCode> {
  const line = parseCommandLine(process.argv.slice(2), ownEnvironment())
  if (line.type === 'help') return say(line.text)
  if (line.type === 'version') return say(`gatehouse ${await version()}\n`)
  if (line.type === 'wrong') return complain(line.sentences)
  if (!isNodeNewEnough()) return complain([nodeProblem()])
  const logger = createLogger({
    level: line.settings.logLevel,
    pretty: process.stderr.isTTY,
    hasColour: wantsColour(line.settings.environment),
    write: (text) => process.stderr.write(text),
  })
  const stop = new AbortController()
  stopAtSignals(stop)
  if (SERVERS.includes(line.settings.command)) goOnWithout(process.stdout)
  else stopWithReader(stop)
  goOnWithout(process.stderr)
  const died = stopAtBugs(stop, logger)
  const command = await COMMANDS[line.settings.command]()
  const code = await command(line.settings, {
    out: (text) => process.stdout.write(text),
    err: (text) => process.stderr.write(text),
    terminal: terminal(),
    logger,
    stop: stop.signal,
    atExit: (callback) => process.on('exit', callback),
  })
  return died() ? 1 : code
}

/** Size of a terminal that does not say how large it is. */
const USUAL_SIZE = { columns: 80, rows: 24 }

/** Returns the size of the terminal that stdout is; undefined: it is none. A size may be 0 at a serial line. */
function terminal(): CommandIo['terminal'] {
  const { isTTY, columns, rows } = process.stdout
  if (!isTTY) return undefined
  return { columns: columns || USUAL_SIZE.columns, rows: rows || USUAL_SIZE.rows }
}

function isNodeNewEnough(): boolean {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
  return major > OLDEST_NODE[0] || (major === OLDEST_NODE[0] && minor >= OLDEST_NODE[1])
}

const nodeProblem = (): string =>
  `Node ${process.versions.node} is too old: Node ${OLDEST_NODE.join('.')} or newer is needed (24 is recommended)`

function say(text: string): ExitCode {
  process.stdout.write(text)
  return 0
}

function complain(sentences: readonly string[]): ExitCode {
  for (const sentence of sentences) process.stderr.write(`gatehouse: ${sentence}\n`)
  return 2
}

async function version(): Promise<string> {
  const text = await readFile(ownFile('package.json'), 'utf8')
  return (JSON.parse(text) as { version: string }).version
}

/** The first signal asks the command to close; a second one exits immediately. */
function stopAtSignals(stop: AbortController): void {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
    process.on(signal, () => {
      if (stop.signal.aborted) process.exit(1)
      stop.abort()
    })
}

/** Stops the command when its results are no longer read (`| head`): that is an end, not an error. */
function stopWithReader(stop: AbortController): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error
    stop.abort()
  })
}

/** Ignores errors of an output: a closed log or a full disk is no reason to end. */
function goOnWithout(output: Writable): void {
  output.on('error', () => undefined)
}

/** Logs unhandled errors, which are bugs, and closes the command. Returns whether one occurred, for the exit code. */
function stopAtBugs(stop: AbortController, logger: Logger): () => boolean {
  let died = false
  const onBug = (err: unknown): void => {
    logger.error({ err }, 'unhandled error, shutting down')
    if (!died) setTimeout(() => process.exit(1), FATAL_CLOSE_MS).unref()
    died = true
    stop.abort()
  }
  process.on('unhandledRejection', onBug)
  process.on('uncaughtException', onBug)
  return () => died
}

// Time after which the process exits even if a command has left something open.
const LINGER_MS = 1_000

try {
  process.exitCode = await main()
  setTimeout(() => process.exit(), LINGER_MS).unref()
} catch (error) {
  process.stderr.write(`gatehouse: ${errorText(error)}\n`)
  process.exitCode = 1
}
