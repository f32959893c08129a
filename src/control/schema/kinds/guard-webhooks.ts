// The guardrail webhooks of a ProxyPolicy, for LLM traffic and for MCP traffic.

import { z } from 'zod'
import { backendRef, duration } from './fields.js'

/**
 * Header names, in lower case, that frame a request or belong to one connection: a wrong value would alter the request.
 */
export const FRAMING_HEADERS: readonly string[] = [
  'connection',
  'content-length',
  'expect',
  'http2-settings',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]

const MAX_HEADERS = 64
const MAX_HOLD_BACK = 4096

const webhook = z.object({
  backendRef: backendRef().describe('The webhook server.'),
  headers: z
    .record(z.string().min(1).max(256), z.string().max(16_384))
    .refine(
      (headers) => Object.keys(headers).length <= MAX_HEADERS,
      `has more than ${MAX_HEADERS} headers`,
    )
    .meta({ maxProperties: MAX_HEADERS })
    .default({})
    .describe(
      'Header name, :path, :method or :authority → CEL expression over request, jwt and llmRequest.',
    )
    .meta({ example: { 'x-user': 'jwt.sub' } }),
  failureMode: z
    .enum(['FailClosed', 'FailOpen'])
    .default('FailClosed')
    .describe('What happens to the LLM request when the webhook is unavailable.'),
  inspectToolCalls: z
    .boolean()
    .default(false)
    .describe('Send the arguments of tool calls to the webhook too.'),
  inspectTools: z
    .boolean()
    .default(false)
    .describe('Send the texts of tool definitions to the webhook too.')
    .meta({ since: '0.2.0' }),
  inspectFiles: z
    .boolean()
    .default(false)
    .describe('Send the text of files in base64 to the webhook too, where their bytes are text.')
    .meta({ since: '0.2.0' }),
  holdBack: z
    .int()
    .min(1)
    .max(MAX_HOLD_BACK)
    .default(256)
    .describe(
      'For streamed replies: the maximum length of a match in characters. This many are held back at the end of the text that was shown.',
    )
    .meta({ since: '0.2.0' }),
  minInterval: duration('ms')
    .refine((ms) => ms >= 10 && ms <= 10_000, 'minInterval must be from 10ms to 10s')
    .prefault('300ms')
    .describe(
      'For streamed replies: the time between two windows of one text, which reduces the number of calls for a fast model.',
    )
    .meta({ since: '0.2.0' }),
  mode: z
    .enum(['Sync', 'Async'])
    .default('Sync')
    .describe(
      'For streamed replies. Sync: text is sent when the webhook has seen it. Async: text is sent at once, and a reject ends the stream; such a webhook cannot change it.',
    )
    .meta({ since: '0.2.0' }),
})

const mode = z
  .enum(['Enforce', 'Audit'])
  .default('Enforce')
  .describe(
    'Audit: the webhook gets copies; its verdict is logged and counted, and changes nothing. In a policy of mode Audit, all webhooks are audited.',
  )
  .meta({ example: 'Audit', since: '0.2.0' })

/** Webhooks of backend.ai.promptGuard. */
export const guards = z
  .array(
    z.object({
      mode,
      webhook: webhook.describe('A guardrail webhook server.'),
    }),
  )
  .max(8)
  .default([])

/** MCP messages are shown whole: the fields for tool calls and for streamed replies do not apply. */
const mcpWebhook = webhook
  .pick({
    backendRef: true,
    headers: true,
    failureMode: true,
    inspectTools: true,
    inspectFiles: true,
  })
  .extend({
    headers: webhook.shape.headers
      .describe('Header name, :path, :method or :authority → CEL expression over request and jwt.')
      .meta({ example: { 'x-user': 'jwt.sub' }, since: '0.2.0' }),
    inspectTools: webhook.shape.inspectTools
      .describe(
        'Send the texts of the definitions of tools, prompts and resources to the webhook too.',
      )
      .meta({ since: '0.2.0' }),
    failureMode: webhook.shape.failureMode
      .describe('What happens to the message when the webhook is unavailable.')
      .meta({ since: '0.2.0' }),
  })

/** Webhooks of backend.mcp.guard. */
export const mcpGuards = z
  .array(
    z.object({
      mode,
      webhook: mcpWebhook.describe('A guardrail webhook server.').meta({ since: '0.2.0' }),
    }),
  )
  .max(8)
  .default([])
