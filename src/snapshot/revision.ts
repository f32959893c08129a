// Hashes the content of a model. Unchanged objects are not read again, as their hashes are memoised.

import { hash } from 'node:crypto'
import { type Chunk, keyedChunks, namedChunks } from '../incremental/chunked-list.js'
import { memo } from '../incremental/memo.js'
import type { FilterChain, Gateway, Ir, Listener, VirtualHost } from '../ir/ir.js'

/** Returns a memoised hash function. textOf must cover all of the part; large children can be included as hashes. */
const hashed = <Part extends object>(textOf: (part: Part) => string): ((part: Part) => string) =>
  memo((part) => hash('sha256', textOf(part), 'base64url'))

const partHash = hashed((part: object) => JSON.stringify(part))
const chunkHash = hashed((chunk: Chunk<object>) => JSON.stringify(chunk.map(partHash)))
const hostHash = hashed(({ routes, ...own }: VirtualHost) =>
  JSON.stringify([own, namedChunks(routes).map(chunkHash)]),
)
const hostsHash = hashed((hosts: Chunk<VirtualHost>) => JSON.stringify(hosts.map(hostHash)))
const chainHash = hashed(({ virtualHosts, ...own }: FilterChain) =>
  JSON.stringify([own, namedChunks(virtualHosts).map(hostsHash)]),
)
const listenerHash = hashed(({ chains, ...own }: Listener) =>
  JSON.stringify([own, chains.map(chainHash)]),
)
const gatewayHash = hashed(({ listeners, ...own }: Gateway) =>
  JSON.stringify([own, listeners.map(listenerHash)]),
)

/** Returns the revision: equal for equal content, in every process. */
export function revisionOf({ gateways, destinations, certificates, authz, proc }: Ir): string {
  const lists = [
    gateways.map(gatewayHash),
    namedChunks(destinations).map(chunkHash),
    namedChunks(certificates).map(chunkHash),
    keyedChunks(authz).map(chunkHash),
    keyedChunks(proc).map(chunkHash),
  ]
  return hash('sha256', JSON.stringify(lists), 'base64url').slice(0, 22)
}
