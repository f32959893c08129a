// Merges the policies of one target: resolves conflicts, pools rules, decides whether the target must refuse
// (decisions 4, 25, 25a).

import type { Authorization } from '../../ir/authorization.js'
import { type Context, query } from '../world/context.js'
import { poolAuthorization } from './authorization.js'
import { type TranslatedPolicy, translatePolicy } from './policies.js'
import { type RateLimit, translateRateLimit } from './rate-limit.js'
import { type TranslatedTransformation, translateTransformation } from './transformation.js'

export interface Attachment {
  /** Oldest first; the policies of its Gateways last. */
  readonly policies: readonly TranslatedPolicy[]
  /** The policy whose jwtAuthentication is in force. */
  readonly jwt?: TranslatedPolicy
  /** The policy whose promptGuard is in force. */
  readonly guard?: TranslatedPolicy
  /** The policy whose MCP guard is in force. */
  readonly mcpGuard?: TranslatedPolicy
  readonly authorization?: Authorization
  readonly rateLimit?: RateLimit
  readonly transformation?: TranslatedTransformation
  /** Whether a rule reads MCP messages, so that checks need the body. */
  readonly readsMcp: boolean
  /** Whether items that the rules deny are removed from lists. */
  readonly filtersLists: boolean
  /** Whether access is limited: a token is required, or rules exist. */
  readonly decides: boolean
  /** backend.http.requestTimeout, in milliseconds. */
  readonly requestTimeoutMs?: number
  /** Conflict messages by policy key, one line each, e.g. naming the older policy that took a field. */
  readonly conflicts: ReadonlyMap<string, string>
  /** Keys of the broken policies; if not empty, the target refuses. */
  readonly broken: readonly string[]
}

/** Whether Envoy asks ext_authz about requests of the target. */
export const asksAuthz = (attachment: Attachment): boolean =>
  attachment.jwt !== undefined ||
  attachment.authorization !== undefined ||
  attachment.transformation?.transformation !== undefined ||
  (attachment.rateLimit?.keys.length ?? 0) > 0

/** Returns the merged policies of a target. target: a targetKey(). */
export const attachPolicies = (context: Context, target: string): Attachment =>
  query(context, 'attachment', target, (own) => merge(ownPolicies(own, target)))

/** Returns the policies on the target itself, oldest first. */
export const ownPolicies = (context: Context, target: string): readonly TranslatedPolicy[] =>
  (context.reader.read('policiesOn', target) ?? []).map((policy) =>
    translatePolicy(context, policy),
  )

/** policies: in order of precedence, highest first. */
export function merge(policies: readonly TranslatedPolicy[]): Attachment {
  const conflicts = new Map<string, string>()
  const jwt = winnerOf(policies, JWT, conflicts)
  const timeout = winnerOf(policies, REQUEST_TIMEOUT, conflicts)
  const guard = winnerOf(policies, PROMPT_GUARD, conflicts)
  const mcpGuard = winnerOf(policies, MCP_GUARD, conflicts)
  const limits = winnerOf(policies, RATE_LIMIT, conflicts)?.policy.spec.traffic?.rateLimit
  const headers = winnerOf(policies, TRANSFORMATION, conflicts)?.policy.spec.traffic?.transformation
  const mixed = guard !== undefined && (jwt?.jwt?.mcp !== undefined || mcpGuard !== undefined)
  if (mixed) say(conflicts, guard.key, mcpGuard === undefined ? MCP_AND_GUARD : TWO_GUARDS)
  const untokened = jwt === undefined ? policies.filter(asksForScopes) : []
  for (const { key } of untokened) say(conflicts, key, SCOPES_WITHOUT_TOKENS)
  const readsMcp = policies.some((policy) => policy.readsMcp)
  const authorization = poolAuthorization(policies.map(({ policy }) => policy))
  const requestTimeoutMs = timeout?.policy.spec.backend?.http?.requestTimeout
  return {
    policies,
    ...(jwt === undefined ? {} : { jwt }),
    ...(guard === undefined ? {} : { guard }),
    ...(mcpGuard === undefined ? {} : { mcpGuard }),
    ...(authorization === undefined ? {} : { authorization }),
    ...(limits === undefined ? {} : { rateLimit: translateRateLimit(limits) }),
    ...(headers === undefined ? {} : { transformation: translateTransformation(headers) }),
    readsMcp,
    decides: authorization !== undefined || jwt?.jwt?.jwt.mode === 'Strict',
    filtersLists: readsMcp && jwt?.jwt?.mcp?.spec.filterLists === true,
    ...(requestTimeoutMs === undefined ? {} : { requestTimeoutMs }),
    conflicts,
    broken: [
      ...policies.filter(({ problems }) => problems.length > 0).map(({ key }) => key),
      ...(mixed ? [guard.key] : []),
      ...untokened.map(({ key }) => key),
    ],
  }
}

/** A route carries either MCP or LLM traffic; its messages cannot be read as both. */
const MCP_AND_GUARD =
  'backend.ai.promptGuard and traffic.jwtAuthentication.mcp exclude each other: the route refuses all traffic'
const TWO_GUARDS =
  'backend.ai.promptGuard and backend.mcp.guard exclude each other: the route refuses all traffic'

const asksForScopes = ({ policy }: TranslatedPolicy): boolean =>
  policy.spec.traffic?.authorization?.policy.requiredScopes !== undefined

/** Without tokens nobody could ever have the scopes. */
const SCOPES_WITHOUT_TOKENS =
  'authorization.policy.requiredScopes needs jwtAuthentication on the same target: the route refuses all traffic'

/**
 * Like Attachment.conflicts, but only for fields that an older policy took. For the policies of a Gateway: as they are
 * defaults, combinations of fields are checked per route.
 */
export function fieldConflicts(policies: readonly TranslatedPolicy[]): Attachment['conflicts'] {
  const conflicts = new Map<string, string>()
  for (const field of [JWT, PROMPT_GUARD, MCP_GUARD, RATE_LIMIT, TRANSFORMATION])
    winnerOf(policies, field, conflicts)
  return conflicts
}

interface Field {
  readonly name: string
  readonly isSet: (policy: TranslatedPolicy) => boolean
}

const JWT: Field = {
  name: 'traffic.jwtAuthentication',
  isSet: ({ policy }) => policy.spec.traffic?.jwtAuthentication !== undefined,
}
const RATE_LIMIT: Field = {
  name: 'traffic.rateLimit',
  isSet: ({ policy }) => policy.spec.traffic?.rateLimit !== undefined,
}
const TRANSFORMATION: Field = {
  name: 'traffic.transformation',
  isSet: ({ policy }) => policy.spec.traffic?.transformation !== undefined,
}
const REQUEST_TIMEOUT: Field = {
  name: 'backend.http.requestTimeout',
  isSet: ({ policy }) => policy.spec.backend?.http?.requestTimeout !== undefined,
}
const PROMPT_GUARD: Field = {
  name: 'backend.ai.promptGuard',
  isSet: ({ policy }) => policy.spec.backend?.ai?.promptGuard !== undefined,
}
const MCP_GUARD: Field = {
  name: 'backend.mcp.guard',
  isSet: ({ policy }) => policy.spec.backend?.mcp?.guard !== undefined,
}

function winnerOf(
  policies: readonly TranslatedPolicy[],
  field: Field,
  conflicts: Map<string, string>,
): TranslatedPolicy | undefined {
  const [winner, ...losers] = policies.filter(field.isSet)
  for (const { key } of losers)
    say(conflicts, key, `${field.name} is already set by the older ProxyPolicy ${winner?.key}`)
  return winner
}

function say(conflicts: Map<string, string>, key: string, sentence: string): void {
  const said = conflicts.get(key)
  conflicts.set(key, said === undefined ? sentence : `${said}\n${sentence}`)
}
