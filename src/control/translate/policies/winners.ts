// Finds the policy that sets a field which only one policy of a target may set, and reports the others (decision 25).

import type { TranslatedPolicy } from './policies.js'

interface Field {
  readonly name: string
  readonly isSet: (policy: TranslatedPolicy) => boolean
}

/** traffic.jwtAuthentication. */
export const JWT: Field = {
  name: 'traffic.jwtAuthentication',
  isSet: ({ policy }) => policy.spec.traffic?.jwtAuthentication !== undefined,
}
/** traffic.rateLimit. */
export const RATE_LIMIT: Field = {
  name: 'traffic.rateLimit',
  isSet: ({ policy }) => policy.spec.traffic?.rateLimit !== undefined,
}
/** traffic.transformation. */
export const TRANSFORMATION: Field = {
  name: 'traffic.transformation',
  isSet: ({ policy }) => policy.spec.traffic?.transformation !== undefined,
}
/** backend.http.requestTimeout. */
export const REQUEST_TIMEOUT: Field = {
  name: 'backend.http.requestTimeout',
  isSet: ({ policy }) => policy.spec.backend?.http?.requestTimeout !== undefined,
}
/** backend.ai.promptGuard. */
export const PROMPT_GUARD: Field = {
  name: 'backend.ai.promptGuard',
  isSet: ({ policy }) => policy.spec.backend?.ai?.promptGuard !== undefined,
}
/** backend.mcp.guard. */
export const MCP_GUARD: Field = {
  name: 'backend.mcp.guard',
  isSet: ({ policy }) => policy.spec.backend?.mcp?.guard !== undefined,
}

/** policies: in order of precedence, highest first. conflicts: gets a sentence for each policy that loses. */
export function winnerOf(
  policies: readonly TranslatedPolicy[],
  field: Field,
  conflicts: Map<string, string>,
): TranslatedPolicy | undefined {
  const [winner, ...losers] = policies.filter(field.isSet)
  for (const { key } of losers)
    addConflict(
      conflicts,
      key,
      `${field.name} is already set by the older ProxyPolicy ${winner?.key}`,
    )
  return winner
}

/** Adds a sentence to the conflicts of a policy. */
export function addConflict(conflicts: Map<string, string>, key: string, sentence: string): void {
  const before = conflicts.get(key)
  conflicts.set(key, before === undefined ? sentence : `${before}\n${sentence}`)
}
