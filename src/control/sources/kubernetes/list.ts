// Lists all objects of a path, page by page. Anyone in the cluster may write objects of a megabyte and more: where a page of
// them would take long to parse, or more memory than there is, it is asked for again with fewer.

import type { KubernetesListObject, KubernetesObject } from '@kubernetes/client-node'
import { isJsonObject, type Json, type JsonObject } from '../../../model/json.js'
import { AnswerTooLargeError, type KubernetesClient, KubernetesError } from './client.js'

/** Objects in a page. */
const PAGE = 500
/** Bytes of a page of several objects, which are parsed at once. 500 HTTPRoutes usually have about half as many. */
const PAGE_BYTES = 2 * 1024 * 1024
/** How many times fewer objects are asked for after a page that is too large. */
const FEWER = 8

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
  const query = new URLSearchParams()
  if (fieldSelector !== undefined) query.set('fieldSelector', fieldSelector)
  if (labelSelector !== undefined) query.set('labelSelector', labelSelector)
  for (let limit = PAGE; ;) {
    query.set('limit', String(limit))
    const list = await callForPage(client, `${path}?${query.toString()}`, limit)
    if (list === 'too large') {
      limit = Math.max(1, Math.floor(limit / FEWER))
      continue
    }
    const { items: page, metadata } = list
    if (!Array.isArray(page) || !isJsonObject(metadata))
      throw new KubernetesError('the answer is not a list')
    for (const object of page as readonly Json[]) if (isJsonObject(object)) items.push(trim(object))
    const next = metadata['continue']
    if (typeof next !== 'string' || next === '')
      return { items, metadata: { resourceVersion: versionOf(metadata) } }
    query.set('continue', next)
    limit = Math.min(2 * limit, PAGE)
  }
}

/** A page of one object may be as large as any answer. */
async function callForPage(
  client: KubernetesClient,
  path: string,
  limit: number,
): Promise<JsonObject | 'too large'> {
  if (limit === 1) return client.call('GET', path)
  try {
    return await client.call('GET', path, undefined, PAGE_BYTES)
  } catch (error) {
    if (error instanceof AnswerTooLargeError) return 'too large'
    throw error
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
