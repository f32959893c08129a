// What our code needs of a logger, so that pure parts and tests need none of it; and the logger of the program:
// pino, on stderr, with everything redacted that must never leave the process.

import { pino } from 'pino'
import { prettyFactory } from 'pino-pretty'

export interface LogMethods {
  debug(fields: object, message: string): void
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}

export interface Logger extends LogMethods {
  /** For fields that hold nothing but names and numbers of ours: no secret is looked for in them. */
  readonly plain?: LogMethods
}

export interface LoggerOptions {
  /** A pino level, or "silent". */
  readonly level: string
  /** For people (a terminal) rather than JSON. */
  readonly pretty: boolean
  /** Of every line. */
  readonly fields?: object
  /** Where lines go: stderr. */
  readonly write: (text: string) => void
}

const SECRET_NAMES = [
  'authorization',
  'Authorization',
  '["proxy-authorization"]',
  'cookie',
  '["set-cookie"]',
  'token',
  'access_token',
  'refresh_token',
  'id_token',
  'client_secret',
  'password',
  'privateKey',
  'claims',
]

const path = (prefix: string, name: string): string =>
  name.startsWith('[') ? `${prefix}${name}` : `${prefix}${prefix === '' ? '' : '.'}${name}`

/** Of the fields themselves and up to two levels below: a net under the rule that nobody logs these. */
const REDACTED = ['', '*', '*.*'].flatMap((prefix) =>
  SECRET_NAMES.map((name) => path(prefix, name)),
)

/** A line per call: JSON with time (ISO), level (word), msg and the fields; an error under "err". */
export function createLogger(options: LoggerOptions): Logger {
  const format = prettyFactory({ colorize: true, translateTime: 'HH:MM:ss.l' })
  const write = (line: string): void => options.write(options.pretty ? format(line) : line)
  const base = {
    level: options.level,
    base: options.fields as Record<string, unknown> | undefined,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
  }
  const redacting = pino({ ...base, redact: { paths: REDACTED, censor: '[redacted]' } }, { write })
  return Object.assign(redacting, { plain: pino(base, { write }) })
}
