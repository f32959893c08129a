// A finding of `gatehouse check`, and its line: FILE:LINE:COLUMN: LEVEL: KIND NAMESPACE/NAME: SENTENCE.

import type { Problem } from '../../control/schema/kinds/resources.js'

/** Where a resource is. */
export interface FindingPlace {
  /** FILE:LINE:COLUMN; "": it is about no document alone. */
  readonly place: string
  /** Kind, namespace and name; "": not known. */
  readonly resource: string
}

/**
 * error: something is not in force as written, or cannot work. warning: it is hardly meant. note: it may be meant. not
 * checked offline: only --fetch tells.
 */
export interface CheckFinding extends FindingPlace {
  readonly level: 'error' | 'warning' | 'note' | 'not checked offline'
  readonly sentence: string
}

/** Returns the line of a finding. */
export const findingLine = ({ level, place, resource, sentence }: CheckFinding): string =>
  [place, level, resource, sentence].filter((part) => part !== '').join(': ')

/** Returns the kind, namespace and name of a resource, for messages. */
export const resourceName = (
  kind: string,
  { namespace, name }: { readonly namespace: string; readonly name: string },
): string => `${kind} ${namespace === '' ? name : `${namespace}/${name}`}`

/** Kinds without a namespace. */
const CLUSTER_SCOPED: ReadonlySet<string> = new Set(['GatewayClass', 'Namespace'])

/** Returns the finding about a document that was not decoded, or that is left alone. */
export function findingOfProblem(
  level: CheckFinding['level'],
  { source, message, kind, namespace = 'default', name }: Problem,
): CheckFinding {
  const isNamed = kind !== undefined && name !== undefined
  const scope = isNamed && CLUSTER_SCOPED.has(kind) ? '' : namespace
  return {
    level,
    place: source,
    resource: isNamed ? resourceName(kind, { namespace: scope, name }) : '',
    sentence: message,
  }
}
