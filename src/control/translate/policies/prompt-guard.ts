// Translates backend.ai.promptGuard and backend.mcp.guard into the webhooks that guard a route, or the reasons why they
// cannot be called (decisions 24 and 26).

import type { EntryLines } from '../../schema/kinds/entry-lines.js'
import { FRAMING_HEADERS } from '../../schema/kinds/guard-webhooks.js'
import type { ProxyPolicySpec } from '../../schema/kinds/proxy-policy.js'
import { type Backend, resolveBackend } from '../backends/backends.js'
import type { Context } from '../world/context.js'
import { isHeaderName } from '../world/header-modifiers.js'
import type { Referrer } from '../world/reference-grants.js'
import type { CheckedValues } from './checked-values.js'

type BackendSpec = NonNullable<ProxyPolicySpec['backend']>
type PromptGuardSpec = NonNullable<NonNullable<BackendSpec['ai']>['promptGuard']>
type McpGuardSpec = NonNullable<NonNullable<BackendSpec['mcp']>['guard']>
/** A webhook of either guard; that of MCP has fewer fields. */
export type WebhookSpec = McpGuardSpec['request'][number]['webhook'] &
  Partial<PromptGuardSpec['request'][number]['webhook']>

/** The webhooks of a guard. */
export interface PromptGuard {
  readonly request: readonly TranslatedWebhook[]
  readonly response: readonly TranslatedWebhook[]
  /** targetKey() of each webhook's backend, whether it exists or not. */
  readonly uses: readonly string[]
  /** If not empty, the route refuses; it is never left unguarded. */
  readonly problems: readonly string[]
  /** Names the audited webhooks. */
  readonly notes: readonly string[]
}

/** A webhook and the backend that it is called at. */
export interface TranslatedWebhook {
  readonly spec: WebhookSpec
  readonly backend: Backend
  /** Position in the policy's list. */
  readonly index: number
  /** Its line, counted from the first one of the policy; absent: unknown. */
  readonly line?: number
  readonly isAudited: boolean
}

/** A guard as a policy writes it. */
export interface WrittenGuard {
  /** Name of the field in the messages. */
  readonly field: keyof typeof FIELDS
  readonly spec: PromptGuardSpec | McpGuardSpec
  /** Lines of the policy's rules. */
  readonly lines?: EntryLines | undefined
}

/** The fields in the policy's spec. */
const FIELDS = { promptGuard: 'backend.ai.promptGuard', 'mcp.guard': 'backend.mcp.guard' } as const

/** Translates the webhooks of a guard. */
export function translatePromptGuard(
  context: Context,
  from: Referrer,
  { field, spec: { request, response }, lines }: WrittenGuard,
  values: CheckedValues,
): PromptGuard {
  const phases: Phases = { request, response }
  const lineOf = (phase: keyof Phases, index: number): Pick<TranslatedWebhook, 'line'> => {
    const line = lines?.[`${FIELDS[field]}.${phase}`]?.[index]
    return line === undefined ? {} : { line }
  }
  const found = (['request', 'response'] as const).flatMap((phase) =>
    phases[phase].map(({ webhook, mode }, index) => ({
      phase,
      index,
      isAudited: mode === 'Audit',
      ...lineOf(phase, index),
      spec: webhook,
      place: `${field}.${phase}[${index}].webhook`,
      backend: resolveBackend(context, from, webhook.backendRef),
    })),
  )
  const webhooks = found.flatMap(({ backend, ...rest }) =>
    backend.ok ? [{ ...rest, backend: backend.value }] : [],
  )
  return {
    request: webhooks.filter(({ phase }) => phase === 'request'),
    response: webhooks.filter(({ phase }) => phase === 'response'),
    uses: found.map(({ backend }) => (backend.ok ? backend.value.target : backend.error.target)),
    notes: found.flatMap(({ isAudited, place }) =>
      isAudited ? [`${place} is of mode Audit: its verdict changes nothing`] : [],
    ),
    problems: found.flatMap(({ phase, spec, place, backend }) => [
      ...(backend.ok ? [] : [`${place}: ${backend.error.message}`]),
      ...(phase === 'request' && spec.mode === 'Async' ? [`${place}.mode: ${NO_ASYNC}`] : []),
      ...Object.entries(spec.headers).flatMap(([name, source]) =>
        headerProblems(name, values.ofWebhooks.get(source)).map(
          (problem) => `${place}.headers["${name}"]: ${problem}`,
        ),
      ),
    ]),
  }
}

interface GuardSpec {
  readonly webhook: WebhookSpec
  /** Absent: Enforce. */
  readonly mode?: ProxyPolicySpec['mode']
}

type Phases = Readonly<Record<'request' | 'response', readonly GuardSpec[]>>

const NO_ASYNC =
  'Async is for streamed replies; a prompt cannot be called back, so webhooks of the request phase are Sync'

const PSEUDO = new Set([':path', ':method', ':authority'])

function headerProblems(name: string, problem: string | undefined): readonly string[] {
  const lower = name.toLowerCase()
  if (FRAMING_HEADERS.includes(lower)) return ['this header frames the request and cannot be set']
  if (!PSEUDO.has(lower) && !isHeaderName(lower)) return ['this is not a header name']
  return problem === undefined ? [] : [problem]
}
