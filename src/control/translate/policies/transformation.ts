// Translates traffic.transformation into the headers that ext_authz sets and removes, and those that Envoy removes from
// answers.

import { compareText } from '../../../kit/incremental/sorted-list.js'
import { HOPS_HEADER } from '../../../model/hops.js'
import type { HeaderExpression, Transformation } from '../../../model/transformation.js'
import { FRAMING_HEADERS } from '../../schema/kinds/guard-webhooks.js'
import type { ProxyPolicySpec } from '../../schema/kinds/proxy-policy.js'
import { isHeaderName } from '../world/header-modifiers.js'
import type { CheckedValues } from './checked-values.js'

type TransformationSpec = NonNullable<NonNullable<ProxyPolicySpec['traffic']>['transformation']>

/** A translated traffic.transformation. */
export interface TranslatedTransformation {
  /** Absent if only Envoy has something to do: remove headers from answers. */
  readonly transformation?: Transformation
  /** Headers that Envoy removes from the backend's answers; sorted. */
  readonly removedFromAnswers: readonly string[]
}

/** Translates traffic.transformation. */
export function translateTransformation({
  request,
  response,
}: TransformationSpec): TranslatedTransformation {
  const ofRequest = {
    set: headersOf(request?.set),
    add: headersOf(request?.add),
    remove: sorted(request?.remove ?? []),
  }
  const set = headersOf(response?.set)
  const isIdle = [...Object.values(ofRequest), set].every((list) => list.length === 0)
  return {
    ...(isIdle ? {} : { transformation: { request: ofRequest, response: { set } } }),
    // Headers that are set are also removed: if an expression has no value, the backend's value must not replace it.
    removedFromAnswers: sorted([...(response?.remove ?? []), ...set.map(({ name }) => name)]),
  }
}

const headersOf = (headers: Readonly<Record<string, string>> = {}): readonly HeaderExpression[] =>
  Object.entries(headers)
    .map(([name, expression]) => ({ name: name.toLowerCase(), expression }))
    .sort((a, b) => compareText(a.name, b.name))

const sorted = (names: readonly string[]): readonly string[] =>
  [...new Set(names.map((name) => name.toLowerCase()))].sort(compareText)

/** Returns why headers or expressions of traffic.transformation are not valid. */
export const transformationProblems = (
  { request, response }: TransformationSpec,
  values: CheckedValues,
): readonly string[] => [
  ...(request === undefined ? [] : partProblems('request', request, values)),
  ...(response === undefined ? [] : partProblems('response', response, values)),
]

interface Part {
  readonly set: Readonly<Record<string, string>>
  readonly add?: Readonly<Record<string, string>>
  readonly remove: readonly string[]
}

function partProblems(
  part: 'request' | 'response',
  spec: Part,
  values: CheckedValues,
): readonly string[] {
  const { set, add = {}, remove } = spec
  const places = [
    ...Object.keys(set).map((name) => placeOf('set', name, `"${shown(name)}"`)),
    ...Object.keys(add).map((name) => placeOf('add', name, `"${shown(name)}"`)),
    ...remove.map((name, index) => placeOf('remove', name, String(index))),
  ]
  const seen = new Map<string, HeaderPlace>()
  const names = places.flatMap((own) => {
    const { name, place } = own
    const lower = name.toLowerCase()
    const before = seen.get(lower)
    // An added value may follow the one that is set.
    const isSecond = before?.list === 'set' && own.list === 'add'
    seen.set(lower, isSecond ? own : (before ?? own))
    const problem =
      nameProblem(part, lower) ??
      (before === undefined || isSecond
        ? undefined
        : `the same header as ${before.place}; expected it once`)
    return problem === undefined ? [] : [`transformation.${part}.${place}: ${problem}`]
  })
  return [
    ...names,
    ...valueProblems(`transformation.${part}.set`, set, values),
    ...valueProblems(`transformation.${part}.add`, add, values),
  ]
}

/** A header that a part of a transformation names. */
interface HeaderPlace {
  readonly list: 'set' | 'add' | 'remove'
  readonly name: string
  /** For people. */
  readonly place: string
}

const placeOf = (list: HeaderPlace['list'], name: string, key: string): HeaderPlace => ({
  list,
  name,
  place: `${list}[${key}]`,
})

const shown = (name: string): string => name.replace(/[^\x20-\x7e]/gu, '?')

const valueProblems = (
  place: string,
  headers: Readonly<Record<string, string>>,
  { ofRequests }: CheckedValues,
): readonly string[] =>
  Object.entries(headers).flatMap(([name, source]) => {
    const problem = ofRequests.get(source)
    return problem === undefined ? [] : [`${place}["${shown(name)}"]: ${problem}`]
  })

/** name: lower-case. */
function nameProblem(part: 'request' | 'response', name: string): string | undefined {
  if (part === 'request' && (name.startsWith(':') || name === 'host'))
    return 'this header routes the request and cannot be changed; expected a filter URLRewrite of the HTTPRoute'
  if (!isHeaderName(name)) return 'this is not a header name'
  if (name.includes('_'))
    return 'backends may read "_" as "-", so a client could send this header; expected a name with "-"'
  if (FRAMING_HEADERS.includes(name)) return 'this header frames the message and cannot be changed'
  if (BODY_HEADERS.has(name)) return BODY_FORM
  if (name.startsWith('x-gatehouse-') || name.startsWith('x-envoy-') || name === HOPS_HEADER)
    return 'this header is for the gateway itself and cannot be changed'
  return OWNED[part].get(name)
}

const CREDENTIALS =
  'this header holds the credentials of the request; expected jwtAuthentication.forwardToken'
const FORWARDED = 'Envoy writes this header, and rules read it'

/**
 * Headers that say how to read a body. Envoy removes those of an answer before guards read it and sets them afterwards,
 * also on answers of its own and of Gatehouse. Rules read a request before its headers change.
 */
const BODY_HEADERS: ReadonlySet<string> = new Set(['content-encoding', 'content-type'])
const BODY_FORM =
  'rules, guards and clients read the body by this header; expected a header filter of the HTTPRoute'

/** Headers that other features control. */
const OWNED: Readonly<Record<'request' | 'response', ReadonlyMap<string, string>>> = {
  request: new Map([
    ['authorization', CREDENTIALS],
    ['cookie', 'a relay writes this header; it cannot be changed'],
    ['x-forwarded-for', FORWARDED],
    ['x-forwarded-proto', FORWARDED],
    ['x-request-id', 'the log names requests by this header; it cannot be changed'],
  ]),
  response: new Map([
    ['www-authenticate', 'clients start a login with this header; it cannot be changed'],
    ['x-request-id', 'the log names requests by this header; it cannot be changed'],
  ]),
}
