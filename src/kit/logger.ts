// The logger interface that the code depends on, and the program's logger: pino on stderr, with redaction of all that
// must never leave the process.

import { pino } from 'pino'
import { prettyFactory } from 'pino-pretty'

/** A method for each level. */
export interface LogMethods {
  debug(fields: object, message: string): void
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}

/** A logger of structured lines. */
export interface Logger extends LogMethods {
  /** Logs without redaction, for fields that are known to hold no secrets. */
  readonly plain?: LogMethods
}

/** Whether people want colours (https://no-color.org), and their terminal has them. */
export const wantsColour = (environment: Readonly<Record<string, string | undefined>>): boolean =>
  (environment['NO_COLOR'] ?? '') === '' && environment['TERM'] !== 'dumb'

/** What a logger is created with. */
export interface LoggerOptions {
  /** Level of pino, or "silent". */
  readonly level: string
  /** Whether to format lines for people (a terminal) instead of as JSON. */
  readonly pretty: boolean
  /** Whether these lines have colours; default true. */
  readonly hasColour?: boolean
  /** Fields of every line. */
  readonly fields?: object
  /** Writes a line, to stderr. */
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

/** Paths of the fields and up to two levels below: a safety net under the rule that nobody logs these. */
const REDACTED = ['', '*', '*.*'].flatMap((prefix) =>
  SECRET_NAMES.map((name) => path(prefix, name)),
)

/** Writes a line per call: JSON with time (ISO), level (word), msg and the fields; an error is under "err". */
export function createLogger(options: LoggerOptions): Logger {
  const format = prettyFactory({ colorize: options.hasColour ?? true, translateTime: 'HH:MM:ss.l' })
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
