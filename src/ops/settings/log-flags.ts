// Flags for logs and telemetry.

import { one, oneOr, onOff } from './flag.js'
import {
  readDecisionLog,
  readHttpUrl,
  readNames,
  readOneOf,
  readPercent,
  readText,
} from './values.js'

const SERVERS = ['run', 'serve', 'demo'] as const

/** Flags by the name of their property in Settings, as in FLAGS. */
export const LOG_FLAGS = {
  logLevel: oneOr(readOneOf('trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'), 'info', {
    value: 'LEVEL',
    commands: SERVERS,
    meaning: 'trace, debug, info, warn, error, fatal or silent',
  }),
  decisionLog: oneOr(readDecisionLog, 'refusals', {
    value: 'WHICH',
    commands: SERVERS,
    meaning:
      'which decisions are logged at info: refusals (similar ones of a caller summed up), all (each refused and each allowed request), all:N (refusals, and one of N allowed requests) or none',
  }),
  decisionLogFile: one(readText, {
    value: 'PATH',
    commands: ['run', 'serve'],
    meaning:
      'the file to which these lines are appended instead of stderr, or /dev/stdout; created again after it is renamed',
  }),
  logClaims: one(readNames, {
    value: 'NAME,NAME',
    commands: SERVERS,
    meaning:
      'claims of verified tokens that these lines show in addition to sub, iss and client_id',
  }),
  exposeReason: onOff({
    commands: SERVERS,
    meaning:
      'the answer that a client gets for a reject includes the reason of the guardrail webhook: in errors, also in streams, and beside a text of the webhook in the header x-gatehouse-reason',
  }),
  otlp: one(readHttpUrl, {
    value: 'URL',
    commands: ['run', 'serve', 'translate', 'demo'],
    meaning:
      'a collector of OpenTelemetry that receives OTLP over HTTP, e.g. http://127.0.0.1:4318: Envoy sends it the spans of requests, and Gatehouse its own, metrics and decisions',
  }),
  traceSampling: oneOr(readPercent, '100', {
    value: 'PERCENT',
    commands: ['run', 'serve', 'translate', 'demo'],
    meaning: 'with --otlp: the share of requests without a traceparent that Envoy traces',
  }),
  accessLog: onOff({
    commands: ['run', 'serve', 'translate', 'demo'],
    meaning: 'Envoy writes a JSON line per request on its standard output',
  }),
}
