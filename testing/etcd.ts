// Runs an etcd, and does with the keys of an API server what the API server itself offers to nobody.

import type { ChildProcess } from 'node:child_process'
import { join } from 'node:path'
import { freePort } from './ports.js'
import { spawnTied } from './tied-process.js'

/** The keys as they were at one time: their versions and values. */
export type Snapshot = ReadonlyMap<string, Pick<Entry, 'mod_revision' | 'value'>>

/** One key. Texts are in base64, except for the version. */
interface Entry {
  readonly key: string
  readonly mod_revision: string
  readonly value: string
}

export interface Etcd {
  readonly url: string
  readonly child: ChildProcess
  /** Drops the history. */
  compact(): Promise<void>
  /** @param under the beginning of the keys; absent: all. */
  snapshot(under?: string): Promise<Snapshot>
  /**
   * Makes all keys what they were, in one transaction: deletes those that are new, and writes back the others that have
   * changed.
   * @param isKept whether to leave a key alone.
   */
  restore(snapshot: Snapshot, isKept: (key: string) => boolean): Promise<void>
}

/** The whole range of keys. */
const ALL = { key: 'AA==', range_end: 'AA==' }

/** The range of the keys that begin so. */
const rangeOf = (under: string): object =>
  under === '' ? {} : { key: btoa(under), range_end: btoa(`${under}\u00ff`) }

/** Starts one that keeps its files in the folder. */
export async function startEtcd(folder: string): Promise<Etcd> {
  const [client, peer] = [await freePort(), await freePort()]
  const url = `http://127.0.0.1:${String(client)}`
  const child = spawnTied('GATEHOUSE_TEST_ETCD', [
    `--data-dir=${join(folder, 'etcd')}`,
    `--listen-client-urls=${url}`,
    `--advertise-client-urls=${url}`,
    `--listen-peer-urls=http://127.0.0.1:${String(peer)}`,
    // No test outlives its machine.
    '--unsafe-no-fsync',
    '--max-txn-ops=100000',
  ])
  const post = async <Answer>(path: string, body: object): Promise<Answer> => {
    const answer = await fetch(`${url}/v3/kv/${path}`, {
      method: 'POST',
      body: JSON.stringify(body),
    })
    if (!answer.ok) throw new Error(`etcd, ${path}: ${await answer.text()}`)
    return (await answer.json()) as Answer
  }
  const entries = async (more: object = {}): Promise<readonly Entry[]> =>
    (await post<{ kvs?: readonly Entry[] }>('range', { ...ALL, ...more })).kvs ?? []
  return {
    url,
    child,
    compact: async () => {
      const { header } = await post<{ header: { revision: string } }>('range', { key: 'AA==' })
      await post('compaction', { revision: header.revision, physical: true })
    },
    snapshot: async (under = '') =>
      new Map((await entries(rangeOf(under))).map((entry) => [entry.key, entry])),
    restore: async (snapshot, isKept) => {
      const now = new Map((await entries({ keys_only: true })).map((entry) => [entry.key, entry]))
      const isMeant = (key: string): boolean => !isKept(Buffer.from(key, 'base64').toString())
      const success = [
        ...[...now.keys()]
          .filter((key) => !snapshot.has(key) && isMeant(key))
          .map((key) => ({ request_delete_range: { key } })),
        ...[...snapshot]
          .filter(([key, { mod_revision: version }]) => now.get(key)?.mod_revision !== version)
          .filter(([key]) => isMeant(key))
          .map(([key, { value }]) => ({ request_put: { key, value } })),
      ]
      await post('txn', { success })
    },
  }
}
