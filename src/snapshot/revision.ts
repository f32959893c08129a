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

/** Computes the revision: equal for equal content, in every process. */
export type RevisionOf = (ir: Ir) => Work<string>

/** Creates a function that keeps the hashes of parts. */
export function createRevisionOf(): RevisionOf {
  const partHash = memo((part: object) => hashOf(part))
  const chunkHash = hashed((chunk: Chunk<object>) => mapEach(chunk, partHash))
  const gatewayHash = createGatewayHash(chunkHash)
  return function* ({ gateways, destinations, certificates, authz, proc }) {
    const lists = [
      yield* mapWork(gateways, gatewayHash),
      yield* mapWork(namedChunks(destinations), chunkHash),
      yield* mapWork(namedChunks(certificates), chunkHash),
      yield* mapWork(keyedChunks(authz), chunkHash),
      yield* mapWork(keyedChunks(proc), chunkHash),
    ]
    return hashOf(lists).slice(0, 22)
  }
}

/** Routes of a host that is hashed as a whole, which is several times as fast. */
const FEW_ROUTES = 4

function createGatewayHash(
  chunkHash: (chunk: Chunk<object>) => Work<string>,
): (gateway: Gateway) => Work<string> {
  const hostHash = hashed(function* (host: VirtualHost) {
    const { routes, ...own } = host
    return routes.length <= FEW_ROUTES
      ? host
      : [own, yield* mapWork(namedChunks(routes), chunkHash)]
  })
  const hostsHash = hashed((hosts: Chunk<VirtualHost>) => mapWork(hosts, hostHash))
  const chainHash = hashed(function* ({ virtualHosts, ...own }: FilterChain) {
    return [own, yield* mapWork(namedChunks(virtualHosts), hostsHash)]
  })
  const listenerHash = hashed(function* ({ chains, ...own }: Listener) {
    return [own, yield* mapWork(chains, chainHash)]
  })
  return hashed(function* ({ listeners, ...own }: Gateway) {
    return [own, yield* mapWork(listeners, listenerHash)]
  })
}
