// Compiles the header expressions of a guard's webhooks.

import { compileValue, type ValueExpression } from '../../cel/value.js'
import type { PolicySource } from '../../ir/policy-source.js'
import type { GuardEntry, McpGuardEntry, Webhook } from '../../ir/proc-entry.js'
import type { Inspects } from '../../llm/text/said.js'

export interface Guard {
  readonly type: 'guard'
  /** NAMESPACE/NAME of the HTTPRoute. */
  readonly route: string
  readonly request: readonly CompiledWebhook[]
  readonly response: readonly CompiledWebhook[]
  /** Seal of the GuardEntry. */
  readonly seal?: string
}

/** The webhooks of each phase, compiled. */
export type GuardWebhooks = Pick<Guard, 'request' | 'response'>

/** Returns what any of the webhooks asks for. */
export const inspectsOf = (webhooks: readonly CompiledWebhook[]): Inspects => ({
  tools: webhooks.some(({ webhook }) => webhook.inspectTools),
  files: webhooks.some(({ webhook }) => webhook.inspectFiles),
})

export interface CompiledWebhook {
  /** The policy that names the webhook, and the place in it; for logs. */
  readonly place?: PolicySource & { readonly rule: string }
  readonly webhook: Webhook
  readonly headers: readonly CompiledHeader[]
  /** Host of its URL. */
  readonly host: string
  readonly path: string
}

export interface CompiledHeader {
  /** Lower-case, or :path, :method, :authority. */
  readonly name: string
  readonly expression: ValueExpression
}

/** Throws for an invalid expression, which the translation has already rejected. */
export const compileGuard = (entry: GuardEntry): Guard => ({
  type: 'guard',
  route: entry.route,
  ...(entry.seal === undefined ? {} : { seal: entry.seal }),
  ...compileWebhooks(entry, 'promptGuard'),
})

/** field: the member of the policy that names the webhooks. Throws as compileGuard() does. */
export const compileWebhooks = (
  { policy, request, response }: GuardEntry | McpGuardEntry,
  field: 'promptGuard' | 'mcp.guard',
): GuardWebhooks => ({
  request: request.map((one, index) => placed(one, policy, `${field}.request[${index}]`)),
  response: response.map((one, index) => placed(one, policy, `${field}.response[${index}]`)),
})

const placed = (
  webhook: Webhook,
  policy: PolicySource | undefined,
  rule: string,
): CompiledWebhook => ({
  ...(policy && { place: { ...policy, rule } }),
  ...compileWebhook(webhook),
})

export function compileWebhook(webhook: Webhook): CompiledWebhook {
  const { host, pathname: path } = new URL(webhook.target.url)
  const headers = webhook.headers.map(({ name, expression }) => {
    const compiled = compileValue(expression)
    if (!compiled.ok) throw new Error(`header ${name} of a webhook: ${compiled.error.message}`)
    return { name, expression: compiled.value }
  })
  return { webhook, headers, host, path }
}
