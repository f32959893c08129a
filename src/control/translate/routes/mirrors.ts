// Translates the RequestMirror filters of a rule (Gateway API, HTTPRequestMirrorFilter). A backend that cannot be used
// gets no copies.

import type { Destination } from '../../../model/destination.js'
import type { Mirror } from '../../../model/route.js'
import { GATEWAY_API_GROUP } from '../../schema/kinds/fields.js'
import type { HttpRouteRule } from '../../schema/kinds/http-route.js'
import type { MirrorSpec } from '../../schema/kinds/http-route-filter.js'
import type { BackendProblem } from '../backends/backends.js'
import type { Context } from '../world/context.js'
import { resolvePresented } from './presented-backends.js'

/** The translated RequestMirror filters of a rule. */
export interface Mirrors {
  readonly mirrors: readonly Mirror[]
  readonly destinations: readonly Destination[]
  /** targetKey() of each backend. */
  readonly uses: readonly string[]
  readonly refProblems: readonly BackendProblem[]
  /** Messages about backends that are used nevertheless. */
  readonly refNotes: readonly string[]
}

/** presenter: see RouteScope. */
export function translateMirrors(
  context: Context,
  namespace: string,
  specs: readonly MirrorSpec[],
  presenter: string | undefined,
): Mirrors {
  const from = { group: GATEWAY_API_GROUP, kind: 'HTTPRoute', namespace }
  const all = specs.map((spec) => ({
    spec,
    found: resolvePresented(context, from, spec.backendRef, presenter),
  }))
  const usable = all.flatMap(({ spec, found }) =>
    found.ok ? [{ spec, backend: found.value }] : [],
  )
  return {
    mirrors: usable
      .map(({ spec, backend: { destination, host } }) => ({
        destination: destination.name,
        perMillion: perMillion(spec),
        ...(host === undefined ? {} : { host }),
      }))
      .filter((mirror) => mirror.perMillion > 0),
    destinations: usable.map(({ backend }) => backend.destination),
    uses: all.map(({ found }) => (found.ok ? found.value.target : found.error.target)),
    refProblems: all.flatMap(({ found }) => {
      if (!found.ok) return [found.error]
      const { target, problem } = found.value
      return problem === undefined ? [] : [{ target, ...problem }]
    }),
    refNotes: usable.flatMap(({ backend }) => backend.note ?? []),
  }
}

/** Returns the share of requests, rounded to a value that Envoy can express, but never to zero. */
function perMillion({ percent = 100, fraction }: MirrorSpec): number {
  if (fraction === undefined) return percent * 10_000
  const exact = (fraction.numerator / fraction.denominator) * 1_000_000
  return exact > 0 ? Math.max(1, Math.round(exact)) : 0
}

/** Returns problems of the filter itself. */
export const mirrorProblems = ({ percent, fraction }: MirrorSpec): readonly string[] => [
  ...(percent === undefined || fraction === undefined
    ? []
    : ['filter RequestMirror: percent and fraction exclude each other']),
  ...(fraction === undefined || fraction.numerator <= fraction.denominator
    ? []
    : [
        `filter RequestMirror: fraction ${String(fraction.numerator)}/${String(fraction.denominator)} is more than 1`,
      ]),
]

/** Reports headers that are meant for one backend: Envoy copies the request after it has added them. */
export const leakProblems = (
  { backendRefs }: HttpRouteRule,
  mirrors: readonly MirrorSpec[],
): readonly string[] =>
  mirrors.length > 0 &&
  backendRefs.some(({ filters }) => filters.some(({ type }) => type === 'RequestHeaderModifier'))
    ? [
        'filter RequestMirror and a RequestHeaderModifier of a backendRef exclude each other: the copy would have its headers',
      ]
    : []
