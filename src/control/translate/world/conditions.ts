// Builds conditions and resource statuses in the Gateway API's shape (decision 29).

import type { Condition, ResourceStatus } from '../../../model/status.js'
import { type FieldPath, formatPath } from '../../schema/kinds/field-path.js'
import type { Resource } from '../../schema/kinds/resources.js'

/** Returns a condition with status True. */
export const isTrue = (type: string, reason: string, message: string): Condition => ({
  type,
  status: 'True',
  reason,
  message,
})

/** Returns a condition with status False. */
export const isFalse = (type: string, reason: string, message: string): Condition => ({
  type,
  status: 'False',
  reason,
  message,
})

/** Adds the Gateway (and listener) that the conditions are about, for resources that have several. */
export const about = (
  conditions: readonly Condition[],
  place: Pick<Condition, 'ancestor' | 'section' | 'port'>,
): readonly Condition[] => conditions.map((condition) => ({ ...condition, ...place }))

/** Returns the status of a resource with these conditions. */
export function statusOf(
  resource: Resource<unknown>,
  conditions: readonly Condition[],
): ResourceStatus {
  const { generation, namespace, name } = resource.metadata
  const observed = generation === undefined ? {} : { observedGeneration: generation }
  return {
    apiVersion: resource.apiVersion,
    kind: resource.kind,
    namespace,
    name,
    conditions: conditions.map((condition) => ({ ...condition, ...observed })),
  }
}

/** Decision 27: fields that Gatehouse does not implement are reported, not rejected. */
export const unsupportedNote = (fields: readonly FieldPath[]): string =>
  fields.length === 0 ? '' : ` (not implemented and ignored: ${fields.map(formatPath).join(', ')})`

/** Joins the sentences of a condition's message, each on a line of its own and once. */
export const uniqueLines = (sentences: readonly string[]): string =>
  [...new Set(sentences)].join('\n')
