// Hashes the content of a model. Unchanged objects are not read again, as their hashes are memoised.

import { hash } from 'node:crypto'
import { type Chunk, keyedChunks, namedChunks } from '../incremental/chunked-list.js'
import { memo, memoWork } from '../incremental/memo.js'
import type { FilterChain, Gateway, Ir, Listener, VirtualHost } from '../ir/ir.js'
import { mapEach, mapWork, type Work } from '../turns.js'

const hashOf = (content: unknown): string => hash('sha256', JSON.stringify(content), 'base64url')

/** Returns a memoised hash function. contentOf must cover all of the part; large children can be included as hashes. */
const hashed = <Part extends object>(
  contentOf: (part: Part) => Work<unknown>,
): ((part: Part) => Work<string>) =>
  memoWork(function* (part) {
    const own = hashOf(yield* contentOf(part))
    yield
    return own
  })

const partHash = memo((part: object) => hashOf(part))
const chunkHash = hashed((chunk: Chunk<object>) => mapEach(chunk, partHash))
const hostHash = hashed(function* ({ routes, ...own }: VirtualHost) {
  return [own, yield* mapWork(namedChunks(routes), chunkHash)]
})
const hostsHash = hashed((hosts: Chunk<VirtualHost>) => mapWork(hosts, hostHash))
const chainHash = hashed(function* ({ virtualHosts, ...own }: FilterChain) {
  return [own, yield* mapWork(namedChunks(virtualHosts), hostsHash)]
})
const listenerHash = hashed(function* ({ chains, ...own }: Listener) {
  return [own, yield* mapWork(chains, chainHash)]
})
const gatewayHash = hashed(function* ({ listeners, ...own }: Gateway) {
  return [own, yield* mapWork(listeners, listenerHash)]
})

/** Returns the revision: equal for equal content, in every process. */
export function* revisionOf({
  gateways,
  destinations,
  certificates,
  authz,
  proc,
}: Ir): Work<string> {
  const lists = [
    yield* mapWork(gateways, gatewayHash),
    yield* mapWork(namedChunks(destinations), chunkHash),
    yield* mapWork(namedChunks(certificates), chunkHash),
    yield* mapWork(keyedChunks(authz), chunkHash),
    yield* mapWork(keyedChunks(proc), chunkHash),
  ]
  return hashOf(lists).slice(0, 22)
}
