// Translates traffic.jwtAuthentication into providers with key sets and metadata for MCP clients (decisions 1, 3, 5).

import type { JwtAuthentication, JwtProvider } from '../../../model/authz-entry.js'
import type { WantedDocument } from '../../../model/remote-target.js'
import { plainLine } from '../../../model/status.js'
import type { BackendRef } from '../backends/backends.js'
import { isPlainInPlace, parseIssuer } from '../backends/remote-targets.js'
import type { Context } from '../world/context.js'
import type { Referent } from '../world/reference-grants.js'
import { targetKey } from '../world/world.js'
import { type JwtSpec, type TranslatedKeySet, translateKeySet } from './key-sets.js'
import { type Mcp, translateMcp } from './mcp.js'

/** A translated jwtAuthentication. */
export interface TranslatedJwt {
  readonly jwt: JwtAuthentication
  readonly mcp?: Mcp
  readonly wanted: readonly WantedDocument[]
  /** targetKey() of each backend that serves keys or tokens. */
  readonly uses: readonly string[]
  readonly notes: readonly string[]
  readonly warnings: readonly string[]
  /** Reasons why key sets are not available yet (decision 1). */
  readonly unavailable: readonly string[]
  /** If not empty, the policy is broken. */
  readonly problems: readonly string[]
}

/** from: the policy, as the referrer of backends. */
export function translateJwt(context: Context, from: Referent, spec: JwtSpec): TranslatedJwt {
  const problems = spec.mcp === undefined ? [] : mcpProblems(spec)
  const keySets: TranslatedKeySet[] = []
  const plain: string[] = []
  const providers: JwtProvider[] = []
  for (const provider of spec.providers) {
    const keySet = translateKeySet(context, from, provider, spec.mcp?.provider)
    if (!keySet.ok) {
      problems.push(`provider ${provider.issuer}: ${keySet.error}`)
      continue
    }
    keySets.push(keySet.value)
    plain.push(...plainLines(provider.issuer, keySet.value))
    const { issuer, audiences = [] } = provider
    providers.push({ issuer, audiences, keySet: keySet.value.keySet })
  }
  const mcp = problems.length === 0 ? mcpOf(context, from, spec, keySets[0]) : undefined
  if (mcp?.ok === false) problems.push(...mcp.error)
  const served = mcp?.ok === true ? mcp.value : undefined
  return {
    jwt: { mode: spec.mode, providers, forwardToken: spec.forwardToken },
    ...(served === undefined ? {} : { mcp: served }),
    wanted: [...keySets.flatMap(({ wanted }) => wanted), ...(served?.wanted ?? [])],
    uses: backendRefs(spec).map(({ group, kind, namespace, name }) =>
      targetKey(group, kind, namespace ?? from.namespace, name),
    ),
    notes: [...plain, ...keySets.flatMap(({ notes }) => notes), ...(served?.notes ?? [])],
    warnings: served?.warnings ?? [],
    unavailable: keySets.flatMap(({ unavailable }) => unavailable ?? []),
    problems,
  }
}

function plainLines(issuer: string, { connection }: TranslatedKeySet): readonly string[] {
  const url = parseIssuer(issuer)
  return url !== undefined && connection !== undefined && isPlainInPlace(url, connection)
    ? [
        plainLine(
          `the provider ${issuer} is asked for its keys and documents without TLS, as no BackendTLSPolicy targets its backend: whoever is on the way can put in keys of their own`,
        ),
      ]
    : []
}

/** Returns references to the backends that Gatehouse itself calls. */
function backendRefs({ providers, mcp }: JwtSpec): readonly BackendRef[] {
  const tokens = mcp?.authorizationServer === 'Relay' ? mcp.relay?.tokenEndpoint : undefined
  return [
    ...providers.flatMap(({ jwks }) => jwks.remote?.backendRef ?? []),
    ...(tokens?.backendRef === undefined ? [] : [tokens.backendRef]),
  ]
}

function mcpProblems({ mode, providers }: JwtSpec): string[] {
  return [
    ...(providers.length === 1
      ? []
      : [`jwtAuthentication.mcp requires exactly one provider, not ${providers.length}`]),
    ...(mode === 'Strict' ? [] : [`jwtAuthentication.mcp requires mode Strict, not ${mode}`]),
    ...(providers.every(({ audiences }) => audiences !== undefined)
      ? []
      : ['jwtAuthentication.mcp requires audiences']),
  ]
}

function mcpOf(
  context: Context,
  from: Referent,
  { mcp, providers }: JwtSpec,
  keySet: TranslatedKeySet | undefined,
) {
  const [provider] = providers
  return mcp === undefined || provider === undefined
    ? undefined
    : translateMcp(context, from, { spec: mcp, provider, connection: keySet?.connection })
}
