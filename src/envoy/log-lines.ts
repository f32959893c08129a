// Writes Envoy's stderr lines to Gatehouse's log, at the matching level.

import type { Logger, LogMethods } from '../logger.js'

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

export interface EnvoyLogLine {
  readonly level: keyof LogMethods
  readonly component?: string
  readonly text: string
}

/** Parses a line. Without a level it continues the message above or comes from the loader or the kernel. */
export function parseLogLine(line: string): EnvoyLogLine {
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

export function logEnvoyLine(line: string, logger: Logger): void {
  const { component, text, ...parsed } = parseLogLine(line)
  if (text === '') return
  const level = EXPECTED.some((pattern) => pattern.test(text)) ? 'debug' : parsed.level
  logger[level](component === undefined ? {} : { component }, `envoy: ${text}`)
}
