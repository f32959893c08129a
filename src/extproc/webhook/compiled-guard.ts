// Compiles the header expressions of a guard.

import { compileValue, type ValueExpression } from '../../cel/value.js'
import type { PolicySource } from '../../ir/policy-source.js'
import type { GuardEntry, Webhook } from '../../ir/proc-entry.js'

export interface Guard {
  readonly type: 'guard'
  /** NAMESPACE/NAME of the HTTPRoute. */
  readonly route: string
  readonly request: readonly CompiledWebhook[]
  readonly response: readonly CompiledWebhook[]
  /** Seal of the GuardEntry. */
  readonly seal?: string
}

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
export const compileGuard = ({ route, policy, request, response, seal }: GuardEntry): Guard => ({
  type: 'guard',
  route,
  ...(seal === undefined ? {} : { seal }),
  request: request.map((webhook, index) => placed(webhook, policy, `request[${index}]`)),
  response: response.map((webhook, index) => placed(webhook, policy, `response[${index}]`)),
})

const placed = (
  webhook: Webhook,
  policy: PolicySource | undefined,
  rule: string,
): CompiledWebhook => ({
  ...(policy && { place: { ...policy, rule: `promptGuard.${rule}` } }),
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
