// Collects the parts of a sealed HTTPRoute of a mesh. Each rule becomes two: one that leads nowhere, and one that also
// matches Gatehouse's marks and leads to the backends.

import type { MeshSealing } from '../../ir/mesh-route.js'
import { SEAL_HEADERS, SEAL_SECRET } from '../../ir/names.js'
import { formatPath } from '../../resources/kinds/field-path.js'
import type { Context } from '../world/context.js'
import { keyIn } from '../world/world.js'
import type { HttpRoute, RuleInput } from './rule-routes.js'

/** Maximum number of rules in an HTTPRoute (Gateway API). */
const MOST_RULES = 16
/** Maximum number of headers in a user's match; Gatehouse needs the rest. */
const MOST_HEADERS = 14

/** Duplicates a rule's input with the two rule indexes of the sealed route. */
export const sealedRules = (input: RuleInput): readonly RuleInput[] =>
  [2 * input.index, 2 * input.index + 1].map((index) => ({ ...input, index }))

/** Reads the secret from the namespace's Secret gatehouse-seal. */
export function meshSealing(context: Context, route: HttpRoute): MeshSealing {
  const { namespace, labels } = route.metadata
  const { name, key } = SEAL_SECRET
  const secret = context.reader.read('secrets', keyIn(namespace, name))?.spec.data[key]
  return {
    ...(secret === undefined || !isSecret(secret) ? {} : { secret }),
    labels,
    problems: [
      ...route.unsupported.map((field) => `${formatPath(field)} is not read, and would be lost`),
      ...(secret === undefined || isSecret(secret)
        ? []
        : [`Secret ${keyIn(namespace, name)}: ${key} is not 32 to 256 letters, digits, - and _`]),
      ...(route.spec.rules.length * 2 > MOST_RULES
        ? [`a sealed route has two rules for each, and no more than ${MOST_RULES}`]
        : []),
      ...route.spec.rules.flatMap(matchProblems),
    ],
  }
}

const isSecret = (text: string): boolean => /^[\w-]{32,256}$/.test(text)

function matchProblems(
  { matches }: HttpRoute['spec']['rules'][number],
  index: number,
): readonly string[] {
  const seals: readonly string[] = Object.values(SEAL_HEADERS)
  const isSealed = matches.some(({ headers }) =>
    headers.some(({ name }) => seals.includes(name.toLowerCase())),
  )
  const isFull = matches.some(({ headers }) => headers.length > MOST_HEADERS)
  return [
    ...(isSealed ? [`rules[${index}] is already sealed: expected the original route`] : []),
    ...(isFull ? [`rules[${index}] has a match with more than ${MOST_HEADERS} headers`] : []),
  ]
}
