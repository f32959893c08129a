// Merges the policies of one target: resolves conflicts, pools rules, decides whether the target must refuse
// (decisions 4, 25, 25a). Policies of mode Audit are merged apart.

import type { Authorization } from '../../../model/authorization.js'
import { type Context, query } from '../world/context.js'
import { type Audit, auditedFieldConflicts, isAudited, mergeAudited } from './audit.js'
import { poolAuthorization } from './authorization.js'
import { type TranslatedPolicy, translatePolicy } from './policies.js'
import type { PromptGuard } from './prompt-guard.js'
import { type RateLimit, translateRateLimit } from './rate-limit.js'
import { type TranslatedTransformation, translateTransformation } from './transformation.js'
import {
  addConflict,
  JWT,
  MCP_GUARD,
  PROMPT_GUARD,
  RATE_LIMIT,
  REQUEST_TIMEOUT,
  TRANSFORMATION,
  winnerOf,
} from './winners.js'

/** The merged policies of a target. */
export interface Attachment {
  /** The policies of mode Enforce, oldest first; the policies of its Gateways last. */
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
  /** The policies of mode Audit; absent: there are none. */
  readonly audit?: Audit
}

/** Whether Envoy asks ext_authz about requests of the target. */
export const asksAuthz = (attachment: Attachment): boolean =>
  enforcesAuthz(attachment) || auditsAuthz(attachment)

/** Whether a policy of mode Audit judges requests of the target. */
export const auditsAuthz = ({ audit }: Attachment): boolean =>
  audit?.jwt !== undefined || audit?.authorization !== undefined

/** Whether ext_authz may refuse or change requests of the target. */
export const enforcesAuthz = (attachment: Attachment): boolean =>
  attachment.jwt !== undefined ||
  attachment.authorization !== undefined ||
  attachment.transformation?.transformation !== undefined ||
  (attachment.rateLimit?.keys.length ?? 0) > 0

/** Returns the policies whose jwtAuthentication is in force or audited. */
export const tokenPolicies = ({ jwt, audit }: Attachment): readonly TranslatedPolicy[] =>
  [jwt, audit?.jwt].flatMap((policy) => policy ?? [])

/** Returns the guards that are in force or audited. */
export const guardsOf = ({ guard, mcpGuard, audit }: Attachment): readonly PromptGuard[] =>
  [guard?.guard, audit?.guard?.guard, mcpGuard?.mcpGuard, audit?.mcpGuard?.mcpGuard].flatMap(
    (one) => one ?? [],
  )

/** Whether the guards of the target, in force or audited, are for MCP traffic. */
export const guardsMcp = ({ mcpGuard, audit }: Attachment): boolean =>
  mcpGuard !== undefined || audit?.mcpGuard !== undefined

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
  const audited = policies.filter(isAudited)
  if (audited.length === 0) return mergeEnforced(policies)
  const enforced = mergeEnforced(policies.filter((policy) => !isAudited(policy)))
  const audit = mergeAudited(audited, enforced)
  return { ...enforced, audit, conflicts: new Map([...enforced.conflicts, ...audit.conflicts]) }
}

function mergeEnforced(policies: readonly TranslatedPolicy[]): Attachment {
  const conflicts = new Map<string, string>()
  const jwt = winnerOf(policies, JWT, conflicts)
  const timeout = winnerOf(policies, REQUEST_TIMEOUT, conflicts)
  const guard = winnerOf(policies, PROMPT_GUARD, conflicts)
  const mcpGuard = winnerOf(policies, MCP_GUARD, conflicts)
  const limits = winnerOf(policies, RATE_LIMIT, conflicts)?.policy.spec.traffic?.rateLimit
  const headers = winnerOf(policies, TRANSFORMATION, conflicts)?.policy.spec.traffic?.transformation
  const mixed = guard !== undefined && (jwt?.jwt?.mcp !== undefined || mcpGuard !== undefined)
  if (mixed) addConflict(conflicts, guard.key, mcpGuard === undefined ? MCP_AND_GUARD : TWO_GUARDS)
  const untokened = jwt === undefined ? policies.filter(asksForScopes) : []
  for (const { key } of untokened) addConflict(conflicts, key, SCOPES_WITHOUT_TOKENS)
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
  const enforced = policies.filter((policy) => !isAudited(policy))
  const conflicts = new Map(auditedFieldConflicts(policies.filter(isAudited)))
  for (const field of [JWT, PROMPT_GUARD, MCP_GUARD, RATE_LIMIT, TRANSFORMATION])
    winnerOf(enforced, field, conflicts)
  return conflicts
}
