// traffic.rateLimit and traffic.transformation of a ProxyPolicy: request limits and header changes.

import { z } from 'zod'
import { duration } from './fields.js'

const MAX_LIMITS = 8
const MAX_REQUESTS = 1_000_000
const DAY_MS = 86_400_000

const expression = () => z.string().min(1).max(16_384)

const localLimit = z.object({
  requests: z
    .int()
    .min(1)
    .max(MAX_REQUESTS)
    .describe('How many requests come back to a bucket in each period.')
    .meta({ example: 100, since: '0.2.0' }),
  per: duration()
    .refine((ms) => ms >= 1000 && ms <= DAY_MS, 'per must be from 1s to 24h')
    .describe('The period, from 1s to 24h. Requests come back evenly over it.')
    .meta({ example: '1m', since: '0.2.0' }),
  burst: z
    .int()
    .min(1)
    .max(MAX_REQUESTS)
    .optional()
    .describe('How many requests a full bucket lets through at once. Absent: requests.')
    .meta({ example: 20, since: '0.2.0' }),
  key: expression()
    .optional()
    .describe(
      'CEL expression over jwt, request and source: each of its values has a bucket of its own. Requests for which it has no value share one bucket. Absent: all requests share one.',
    )
    .meta({ example: 'jwt.sub', since: '0.2.0' }),
})

/** ProxyPolicy traffic.rateLimit. */
export const rateLimit = z.object({
  local: z
    .array(localLimit)
    .min(1)
    .max(MAX_LIMITS)
    .describe(
      'Limits that each Envoy counts by itself, for each match of a rule on each listener and host name. A request that exceeds any of them is answered 429 with Retry-After.',
    )
    .meta({ example: [{ requests: 100, per: '1m', key: 'jwt.sub' }], since: '0.2.0' }),
})

const MAX_HEADERS = 16
const MAX_NAME = 128

const headers = () =>
  z
    .record(z.string().min(1).max(MAX_NAME), expression())
    .refine((all) => Object.keys(all).length <= MAX_HEADERS, `has more than ${MAX_HEADERS} headers`)
    .meta({ maxProperties: MAX_HEADERS })
    .default({})

const removed = () => z.array(z.string().min(1).max(MAX_NAME)).max(64).default([])

/** ProxyPolicy traffic.transformation. */
export const transformation = z.object({
  request: z
    .object({
      set: headers()
        .describe(
          "Header name → CEL expression over jwt, request and source. Replaces what the client sent, and removes the client's own header where there is no value.",
        )
        .meta({ example: { 'x-user': 'jwt.sub' }, since: '0.2.0' }),
      add: headers()
        .describe(
          "Header name → CEL expression, as in set. If set names the header too, it gets both values. The client's own header never passes.",
        )
        .meta({ example: { 'x-team': 'jwt.team' }, since: '0.2.0' }),
      remove: removed()
        .describe('Names of headers that the backend does not get.')
        .meta({ example: ['x-debug'], since: '0.2.0' }),
    })
    .optional()
    .describe('Headers of requests, on their way to the backend.')
    .meta({ since: '0.2.0' }),
  response: z
    .object({
      set: headers()
        .describe(
          "Header name → CEL expression over jwt, request and source. Replaces the backend's own header, and removes it where there is no value.",
        )
        .meta({ example: { 'x-served-to': 'jwt.sub' }, since: '0.2.0' }),
      remove: removed()
        .describe('Names of headers that the client does not get from the backend.')
        .meta({ example: ['x-powered-by'], since: '0.2.0' }),
    })
    .optional()
    .describe('Headers of answers, on their way to the client.')
    .meta({ since: '0.2.0' }),
})
