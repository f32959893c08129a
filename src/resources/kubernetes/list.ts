// Lists all objects of a path, page by page.

import type { KubernetesListObject, KubernetesObject } from '@kubernetes/client-node'
import { isJsonObject, type Json, type JsonObject } from '../../ir/json.js'
import { type KubernetesClient, KubernetesError } from './client.js'

const PAGE = 500

interface Selectors {
  readonly fieldSelector: string | undefined
  readonly labelSelector: string | undefined
}

/** Returns all objects. Rejects (KubernetesError) if a page fails or its continue token expired: then list again. */
export async function listAll(
  client: KubernetesClient,
  path: string,
  { fieldSelector, labelSelector }: Selectors,
): Promise<KubernetesListObject<KubernetesObject>> {
  const items: KubernetesObject[] = []
  const query = new URLSearchParams({ limit: String(PAGE) })
  if (fieldSelector !== undefined) query.set('fieldSelector', fieldSelector)
  if (labelSelector !== undefined) query.set('labelSelector', labelSelector)
  for (;;) {
    const { items: page, metadata } = await client.call('GET', `${path}?${query.toString()}`)
    if (!Array.isArray(page) || !isJsonObject(metadata))
      throw new KubernetesError('the answer is not a list')
    for (const object of page as readonly Json[]) if (isJsonObject(object)) items.push(trim(object))
    const next = metadata['continue']
    if (typeof next !== 'string' || next === '')
      return { items, metadata: { resourceVersion: versionOf(metadata) } }
    query.set('continue', next)
  }
}

const versionOf = ({ resourceVersion }: JsonObject): string =>
  typeof resourceVersion === 'string' ? resourceVersion : ''

/** Metadata for other programs, which may be larger than everything else. */
const FOR_OTHERS = new Set(['managedFields', 'annotations'])

/** Removes the metadata that Gatehouse does not need. */
export function trim(object: JsonObject): KubernetesObject {
  const { metadata } = object
  if (!isJsonObject(metadata)) return object
  const kept = Object.entries(metadata).filter(([name]) => !FOR_OTHERS.has(name))
  return { ...object, metadata: Object.fromEntries(kept) }
}
