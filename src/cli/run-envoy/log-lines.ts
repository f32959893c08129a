// Writes Envoy's stderr lines to Gatehouse's log, at the matching level.

import type { Logger, LogMethods } from '../../kit/logger.js'

/** Value of --log-format: level and logger before the text, in a form that occurs in no message. */
export const LOG_FORMAT = '[[%l|%n]] %v'

const LINE = /^\[\[(\w+)\|([\w.]+)\]\] (.*)$/

const LEVELS: Readonly<Record<string, keyof LogMethods>> = {
  trace: 'debug',
  debug: 'debug',
  info: 'info',
  warning: 'warn',
  error: 'error',
  critical: 'error',
}

interface EnvoyLogLine {
  readonly level: keyof LogMethods
  readonly component?: string
  readonly text: string
}

/** Parses a line. Without a level it continues the message above or comes from the loader or the kernel. */
function parseLogLine(line: string): EnvoyLogLine {
  const match = LINE.exec(line)
  if (match === null) return { level: 'warn', text: line }
  const level = LEVELS[match[1] ?? ''] ?? 'warn'
  return { level, component: match[2] ?? '', text: match[3] ?? '' }
}

/** Warnings about what Gatehouse asked for, or logs itself with the node and the version. */
const EXPECTED = [
  /^caught ENVOY_SIGTERM$/,
  /^lds: listener .* config rejected: /,
  /^gRPC config for \S+ rejected: /,
  /^\w+ gRPC config stream to gatehouse_xds closed: /,
]

function logLine({ component, text, level }: EnvoyLogLine, logger: Logger): void {
  const own = EXPECTED.some((pattern) => pattern.test(text)) ? 'debug' : level
  logger[own](component === undefined ? {} : { component }, `envoy: ${text}`)
}

/** Maximum length of a line, in bytes. Messages about NACKed resources are long. */
const MAX_LINE = 4096
/** Maximum number of lines in a second. A crash of Envoy is told in fewer. */
const MAX_LINES = 200
const SECOND_MS = 1000
const LINE_END = 0x0a

/**
 * Logs what Envoy writes to stderr, line by line. Clients can cause lines of Envoy, so their length and number are
 * bounded; what is left out is counted.
 */
export class EnvoyLog {
  readonly #logger: Logger
  /** The line that is not complete yet, as far as it is logged. */
  #parts: Buffer[] = []
  #kept = 0
  #cut = 0
  /** Lines of this second. */
  #lines = 0
  #leftOut = 0
  #second: NodeJS.Timeout | undefined
  #lastError = ''

  constructor(logger: Logger) {
    this.#logger = logger
  }

  /** The last error of Envoy, logged or left out; "": there was none. */
  get lastError(): string {
    return this.#lastError
  }

  /** Takes bytes in any slices. */
  push(bytes: Buffer): void {
    let from = 0
    for (;;) {
      const end = bytes.indexOf(LINE_END, from)
      this.#keep(bytes.subarray(from, end === -1 ? bytes.length : end))
      if (end === -1) return
      this.#endLine()
      from = end + 1
    }
  }

  /** Logs an incomplete line, and how many were left out. */
  end(): void {
    if (this.#kept > 0) this.#endLine()
    this.#endSecond()
  }

  #keep(bytes: Buffer): void {
    const kept = bytes.subarray(0, MAX_LINE - this.#kept)
    // A copy: the rest of the chunk need not stay in memory.
    if (kept.length > 0) this.#parts.push(Buffer.from(kept))
    this.#kept += kept.length
    this.#cut += bytes.length - kept.length
  }

  #endLine(): void {
    const text = Buffer.concat(this.#parts).toString('utf8').replace(/\r$/, '')
    const line = this.#cut === 0 ? text : `${text} … (${this.#cut} bytes left out)`
    this.#parts = []
    this.#kept = 0
    this.#cut = 0
    this.#take(parseLogLine(line))
  }

  #take(line: EnvoyLogLine): void {
    if (line.text === '') return
    if (line.level === 'error') this.#lastError = line.text
    this.#second ??= setTimeout(() => this.#endSecond(), SECOND_MS).unref()
    this.#lines += 1
    if (this.#lines <= MAX_LINES) logLine(line, this.#logger)
    else this.#leftOut += 1
  }

  #endSecond(): void {
    clearTimeout(this.#second)
    this.#second = undefined
    const leftOut = this.#leftOut
    this.#lines = 0
    this.#leftOut = 0
    if (leftOut > 0) this.#logger.warn({ leftOut }, `envoy: lines left out: ${leftOut}`)
  }
}
