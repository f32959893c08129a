// Merges the policies of mode Audit on a target, apart from those of mode Enforce: they decide, and change nothing
// (decision 25m).

import type { Authorization } from '../../../model/authorization.js'
import type { Limits } from '../../../model/route.js'
import { poolAuthorization } from './authorization.js'
import type { TranslatedPolicy } from './policies.js'
import { translateRateLimit } from './rate-limit.js'
import { addConflict, JWT, MCP_GUARD, PROMPT_GUARD, RATE_LIMIT, winnerOf } from './winners.js'

/** The merged policies of mode Audit on a target. */
export interface Audit {
  /** The valid policies of mode Audit, highest precedence first. */
  readonly policies: readonly TranslatedPolicy[]
  /** The policy whose jwtAuthentication is audited. */
  readonly jwt?: TranslatedPolicy
  /** The policy whose promptGuard is audited. */
  readonly guard?: TranslatedPolicy
  /** The policy whose MCP guard is audited. */
  readonly mcpGuard?: TranslatedPolicy
  readonly authorization?: Authorization
  /** Limits without a key: keys come from checks, which read those in force. */
  readonly limits?: Limits['local']
  readonly readsMcp: boolean
  /** Like those of an Attachment. */
  readonly conflicts: ReadonlyMap<string, string>
  /** Keys of policies that are not audited, as they do not fit the others; conflicts has the reasons. */
  readonly unfit: readonly string[]
}

/** Whether the policy has mode Audit. */
export const isAudited = ({ policy }: TranslatedPolicy): boolean => policy.spec.mode === 'Audit'

/** all: in order of precedence, highest first. enforced: the policies in force beside them. */
export function mergeAudited(all: readonly TranslatedPolicy[], enforced: Enforced): Audit {
  const conflicts = new Map<string, string>()
  const valid = all.filter(({ problems }) => problems.length === 0)
  const jwt = winnerOf(valid, JWT, conflicts)
  const guards = auditedGuards(valid, { ...enforced, audited: jwt }, conflicts)
  const untokened =
    jwt === undefined && enforced.jwt === undefined ? valid.filter(asksForScopes) : []
  for (const { key } of untokened) addConflict(conflicts, key, SCOPES_WITHOUT_TOKENS)
  const judging = valid.filter((policy) => !untokened.includes(policy))
  const limits = auditedLimits(valid, conflicts)
  const authorization = poolAuthorization(judging.map(({ policy }) => policy))
  return {
    policies: valid,
    ...(jwt === undefined ? {} : { jwt }),
    ...guards.fit,
    ...(authorization === undefined ? {} : { authorization }),
    ...(limits.length === 0 ? {} : { limits }),
    readsMcp: judging.some(({ readsMcp }) => readsMcp),
    conflicts,
    unfit: [...guards.unfit, ...untokened.map(({ key }) => key)],
  }
}

function auditedLimits(
  valid: readonly TranslatedPolicy[],
  conflicts: Map<string, string>,
): Limits['local'] {
  const spec = winnerOf(valid, RATE_LIMIT, conflicts)?.policy.spec.traffic?.rateLimit
  return spec === undefined ? [] : translateRateLimit(spec).local.filter(({ isKeyed }) => !isKeyed)
}

interface Enforced {
  readonly jwt?: TranslatedPolicy
  readonly guard?: TranslatedPolicy
  readonly mcpGuard?: TranslatedPolicy
}

/** Returns the audited guards, of which a route has one kind: what is in force decides which. */
function auditedGuards(
  valid: readonly TranslatedPolicy[],
  enforced: Enforced & { readonly audited: TranslatedPolicy | undefined },
  conflicts: Map<string, string>,
): { readonly fit: Pick<Audit, 'guard' | 'mcpGuard'>; readonly unfit: readonly string[] } {
  const guard = winnerOf(valid, PROMPT_GUARD, conflicts)
  const mcpGuard = winnerOf(valid, MCP_GUARD, conflicts)
  const isLlm = enforced.guard !== undefined
  const isMcp =
    [enforced.jwt, enforced.audited].some((policy) => policy?.jwt?.mcp !== undefined) ||
    enforced.mcpGuard !== undefined ||
    (mcpGuard !== undefined && !isLlm)
  if (guard !== undefined && isMcp) addConflict(conflicts, guard.key, MCP_AND_GUARD)
  if (mcpGuard !== undefined && isLlm) addConflict(conflicts, mcpGuard.key, LLM_AND_MCP_GUARD)
  return {
    fit: {
      ...(guard === undefined || isMcp ? {} : { guard }),
      ...(mcpGuard === undefined || isLlm ? {} : { mcpGuard }),
    },
    unfit: [...(isMcp && guard ? [guard.key] : []), ...(isLlm && mcpGuard ? [mcpGuard.key] : [])],
  }
}

/** Like the conflicts of mergeAudited(), but only for fields that an older policy took. */
export function auditedFieldConflicts(
  policies: readonly TranslatedPolicy[],
): ReadonlyMap<string, string> {
  const conflicts = new Map<string, string>()
  for (const field of [JWT, PROMPT_GUARD, MCP_GUARD, RATE_LIMIT])
    winnerOf(policies, field, conflicts)
  return conflicts
}

const MCP_AND_GUARD =
  'backend.ai.promptGuard is for LLM traffic and the route carries MCP traffic: the webhooks are not asked'

const LLM_AND_MCP_GUARD =
  'backend.mcp.guard is for MCP traffic and the route carries LLM traffic: the webhooks are not asked'

const asksForScopes = ({ policy }: TranslatedPolicy): boolean =>
  policy.spec.traffic?.authorization?.policy.requiredScopes !== undefined

const SCOPES_WITHOUT_TOKENS =
  'authorization.policy.requiredScopes needs jwtAuthentication on the same target: its rules are not audited'
