// Finds the kind that decodes a document by its apiVersion and kind, or says why there is none.

import { similarWord } from '../../similar.js'
import { type Kind, OTHER_GATEWAY_API_KINDS } from '../kinds/kinds.js'

/** The kind of a document, or why there is none. */
export type FoundKind =
  | { readonly type: 'kind'; readonly kind: Kind }
  /** The document is most likely meant for Gatehouse. */
  | { readonly type: 'problem'; readonly field: 'apiVersion' | 'kind'; readonly message: string }
  /** Gatehouse does not read this kind and ignores it. */
  | { readonly type: 'note'; readonly message: string }

/** Finds the kind of a document. */
export function findKind(kinds: readonly Kind[], apiVersion: string, kind: string): FoundKind {
  const slash = apiVersion.lastIndexOf('/')
  const group = slash < 0 ? '' : apiVersion.slice(0, slash)
  const version = apiVersion.slice(slash + 1)
  const found = kinds.find((each) => each.group === group && each.kind === kind)
  if (found === undefined) return unknownKind(kinds, group, kind)
  if (found.versions.includes(version)) return { type: 'kind', kind: found }
  return problem(
    'apiVersion',
    `${JSON.stringify(apiVersion)} is not a version of ${kind} that is read here, expected ${expectedVersion(found)}`,
  )
}

const expectedVersion = ({ group, versions }: Kind): string =>
  group === '' ? (versions[0] ?? '') : `${group}/${versions[0]}`

function unknownKind(kinds: readonly Kind[], group: string, kind: string): FoundKind {
  const elsewhere = kinds.find((each) => each.kind === kind)
  if (elsewhere !== undefined && (elsewhere.strictness === 'own' || isNear(group, elsewhere.group)))
    return problem(
      'apiVersion',
      `${JSON.stringify(group)} is not the API group of ${kind}, expected ${expectedVersion(elsewhere)}${groupHint(elsewhere)}`,
    )
  const siblings = kinds.filter((each) => each.group === group)
  const isOwn = siblings.some(({ strictness }) => strictness === 'own')
  const names = siblings.map((each) => each.kind)
  const meant = OTHER_GATEWAY_API_KINDS.includes(kind) ? undefined : similarWord(kind, names)
  if (meant !== undefined)
    return problem('kind', `${JSON.stringify(kind)} is not a kind; did you mean ${meant}?`)
  if (isOwn) return problem('kind', `${JSON.stringify(kind)} is not one of ${names.join(', ')}`)
  return { type: 'note', message: `${kind} is not a kind that Gatehouse reads: left alone` }
}

const groupHint = ({ strictness }: Kind): string =>
  strictness === 'own' ? ' (the API group is a setting: --api-group)' : ''

const isNear = (group: string, expected: string): boolean =>
  group !== expected && similarWord(group, [expected]) !== undefined

const problem = (field: 'apiVersion' | 'kind', message: string): FoundKind => ({
  type: 'problem',
  field,
  message,
})
