// Compiles a guard's webhooks, with their header expressions.

import { compileValue, type ValueExpression } from '../../extauthz/cel/value.js'
import { atOnce, type Work } from '../../kit/turns.js'
import { type PolicySource, ruleSourceOf } from '../../model/policy-source.js'
import type {
  GuardAuditEntry,
  GuardEntry,
  McpGuardEntry,
  Phase,
  Webhook,
} from '../../model/proc-entry.js'
import type { Entry } from '../llm/text/conversation.js'
import type { Inspects } from '../llm/text/found-text.js'

/** The table entry of a guarded route. */
export interface Guard {
  readonly type: 'guard'
  /** Key of its entry in the table. */
  readonly key: string
  /** NAMESPACE/NAME of the HTTPRoute. */
  readonly route: string
  readonly request: readonly CompiledWebhook[]
  readonly response: readonly CompiledWebhook[]
  /** Seal of the GuardEntry. */
  readonly seal?: string
  /** Whether a change of a text that its provider has signed counts as a reject. */
  readonly refusesSigned?: boolean
}

/** The webhooks of a route that are audited. */
export interface GuardAudit extends GuardWebhooks {
  readonly type: 'guard-audit'
  /** Key of its entry in the table. */
  readonly key: string
  /** NAMESPACE/NAME of the HTTPRoute. */
  readonly route: string
}

/** The webhooks of each phase, compiled. */
export type GuardWebhooks = Pick<Guard, 'request' | 'response'>

/** Whether the webhook sees texts of this kind. */
export function isShown(kind: Entry['kind'], { webhook }: CompiledWebhook): boolean {
  switch (kind) {
    case 'text':
      return true
    case 'tool-call':
      return webhook.inspectToolCalls
    case 'definition':
      return webhook.inspectTools
    case 'file':
      return webhook.inspectFiles
  }
}

/** Returns the additional texts that at least one of the webhooks asks for. */
export const inspectsOf = (webhooks: readonly CompiledWebhook[]): Inspects => ({
  tools: webhooks.some(({ webhook }) => webhook.inspectTools),
  files: webhooks.some(({ webhook }) => webhook.inspectFiles),
})

/** A webhook with its compiled header expressions. */
export interface CompiledWebhook {
  /** The policy that names the webhook, and the place in it; for logs. */
  readonly place?: PolicySource & { readonly rule: string; readonly ruleSource?: string }
  readonly webhook: Webhook
  readonly headers: readonly CompiledHeader[]
  /** Host of its URL. */
  readonly host: string
  readonly path: string
}

/** A header with its compiled expression. */
export interface CompiledHeader {
  /** Lower-case, or :path, :method, :authority. */
  readonly name: string
  readonly expression: ValueExpression
}

/** Throws for an invalid expression, which the translation has already rejected. */
export const compileGuard = (entry: GuardEntry, compiledOf = compileHeader): Guard => ({
  type: 'guard',
  key: entry.key,
  route: entry.route,
  ...(entry.seal === undefined ? {} : { seal: entry.seal }),
  ...(entry.signedTexts === 'Refuse' && { refusesSigned: true }),
  ...compileWebhooks(entry, 'promptGuard', compiledOf),
})

/** Throws as compileGuard() does. */
export const compileGuardAudit = (
  { key, route, request, response }: GuardAuditEntry,
  compiledOf = compileHeader,
): GuardAudit => ({
  type: 'guard-audit',
  key,
  route,
  ...compileAudited({ request, response }, 'promptGuard', compiledOf),
})

/** field: as in compileWebhooks(). Throws as compileGuard() does. */
export function compileAudited(
  entry: Pick<GuardAuditEntry, 'request' | 'response'>,
  field: GuardField,
  compiledOf = compileHeader,
): GuardWebhooks {
  const compiled = (phase: Phase): readonly CompiledWebhook[] =>
    entry[phase].map((one, index) =>
      placed(one, one.policy, `${field}.${phase}[${one.index ?? index}]`, compiledOf),
    )
  return { request: compiled('request'), response: compiled('response') }
}

type GuardField = 'promptGuard' | 'mcp.guard'

/** field: the member of the policy that names the webhooks. Throws as compileGuard() does. */
export const compileWebhooks = (
  { policy, request, response }: GuardEntry | McpGuardEntry,
  field: GuardField,
  compiledOf = compileHeader,
): GuardWebhooks => ({
  request: request.map((one, index) =>
    placed(one, policy, `${field}.request[${one.index ?? index}]`, compiledOf),
  ),
  response: response.map((one, index) =>
    placed(one, policy, `${field}.response[${one.index ?? index}]`, compiledOf),
  ),
})

const placed = (
  webhook: Webhook,
  policy: PolicySource | undefined,
  rule: string,
  compiledOf: CompileHeader,
): CompiledWebhook => ({
  ...(policy && { place: { ...policy, rule, ...ruleSourceOf(policy.source, webhook.line) } }),
  ...compileWebhook(webhook, compiledOf),
})

/** A function that compiles the expression of a header. A table passes a memoised one, as many routes share headers. */
export type CompileHeader = (header: Webhook['headers'][number]) => ReturnType<typeof compileValue>

/** Compiles it anew. */
export const compileHeader: CompileHeader = ({ expression }) => compileValue(expression)

/** Compiles the expressions of webhooks one by one, so that compileWebhook() finds them compiled. */
export function* compileExpressions(
  { request, response }: Webhooks,
  compiledOf: CompileHeader,
): Work<void> {
  for (const { headers } of [...request, ...response])
    for (const header of headers) {
      yield* compiledOf(header)
      yield
    }
}

type Webhooks = Pick<GuardEntry, 'request' | 'response'>

/** Compiles a webhook. Throws if an expression does not compile. */
export function compileWebhook(webhook: Webhook, compiledOf = compileHeader): CompiledWebhook {
  const { host, pathname: path } = new URL(webhook.target.url)
  const headers = webhook.headers.map((header) => {
    const { name } = header
    const compiled = atOnce(compiledOf(header))
    if (!compiled.ok) throw new Error(`header ${name} of a webhook: ${compiled.error.message}`)
    return { name, expression: compiled.value }
  })
  return { webhook, headers, host, path }
}
