// What Envoy writes to stderr → lines of our log, at the matching level.

import type { Logger, LogMethods } from '../logger.js'

/** Envoy's --log-format: level and logger before the text, in a form that no message has. */
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

/** A line without a level belongs to the message above it, or is the loader's or the kernel's. */
export function parseLogLine(line: string): EnvoyLogLine {
  const match = LINE.exec(line)
  if (match === null) return { level: 'warn', text: line }
  const level = LEVELS[match[1] ?? ''] ?? 'warn'
  return { level, component: match[2] ?? '', text: match[3] ?? '' }
}

/** What Envoy warns of although we have asked for it, or say it ourselves with the node and the version. */
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
