// Collects and checks the addresses of a Service's EndpointSlices once for all of its ports, in slices of work: a Service
// may have tens of thousands of addresses, and all are wanted again when one of them changes.

import type { Concern } from '../../../kit/addresses/address-rules.js'
import { isPlainAddress } from '../../../kit/addresses/host.js'
import { briefMemoWork } from '../../../kit/incremental/memo.js'
import {
  compareText,
  createSortedList,
  type SortedList,
} from '../../../kit/incremental/sorted-list.js'
import { atOnce, mapWork, type Work } from '../../../kit/turns.js'
import type { EndpointSliceData } from '../../schema/kinds/endpoint-slice.js'
import { type Context, query, queryWork } from '../world/context.js'
import type { LongQuery } from '../world/prepared.js'
import { checksOfAddresses } from './address-rules.js'

/** A ready address, and the EndpointSlice that lists it. */
export interface ListedAddress {
  readonly ip: string
  readonly slice: EndpointSliceData
}

/** The addresses of a Service. */
export interface ServiceAddresses {
  /** Sorted by address, which several EndpointSlices may list. */
  readonly listed: readonly ListedAddress[]
  /** What the rules hold against some of the addresses. */
  readonly concerns: ReadonlyMap<string, Concern>
  readonly sort: SortedList<ListedAddress>
  /** Returns the ready addresses of an EndpointSlice; memoised. */
  readonly readyIn: (slice: EndpointSliceData) => Work<readonly ListedAddress[]>
}

/** Name of the query about a Service, by its keyOf(). */
const ADDRESSES = 'service-addresses'

/** key: keyOf() of the Service. Returns undefined if it has no EndpointSlices. */
export const addressesOfService = (context: Context, key: string): ServiceAddresses | undefined =>
  query<ServiceAddresses | undefined>(context, ADDRESSES, key, (own, previous) =>
    atOnce(collect(own, key, previous)),
  )

/** Addresses and EndpointSlices of a Service from which on it is large. */
const MANY = 256

/** The addresses of a Service that has many. */
export const MANY_ADDRESSES: LongQuery = {
  table: 'endpointSlices',
  isLong: isLarge,
  ask: (context, key) =>
    queryWork<ServiceAddresses | undefined>(context, ADDRESSES, key, (own, previous) =>
      collect(own, key, previous),
    ),
}

function isLarge(context: Context, key: string): boolean {
  let count = 0
  for (const { spec } of context.reader.read('endpointSlices', key) ?? []) {
    count += 1
    for (const { addresses } of spec.endpoints) count += addresses.length
    if (count > MANY) return true
  }
  return false
}

function* collect(
  context: Context,
  key: string,
  previous: ServiceAddresses | undefined,
): Work<ServiceAddresses | undefined> {
  const slices = context.reader.read('endpointSlices', key) ?? []
  if (slices.length === 0) return undefined
  const readyIn = previous?.readyIn ?? briefMemoWork(readyAddresses)
  const parts = yield* mapWork(slices, ({ spec }) => readyIn(spec))
  const sort = previous?.sort ?? createSortedList<ListedAddress>((a, b) => compareText(a.ip, b.ip))
  const listed = yield* sort(parts)
  const concernsIn = checksOfAddresses(context)?.concernsIn
  const concerns = concernsIn === undefined ? [] : yield* mapWork(parts, concernsIn)
  return { listed, concerns: joinedConcerns(concerns), sort, readyIn }
}

/** Addresses that are looked at between two yields. */
const RUN = 128

/** Lists the ready addresses of an EndpointSlice that Envoy can connect to. */
function* readyAddresses(slice: EndpointSliceData): Work<readonly ListedAddress[]> {
  const ready: ListedAddress[] = []
  if (slice.addressType === 'FQDN') return ready
  let seen = 0
  for (const { addresses, conditions } of slice.endpoints) {
    if (!conditions.ready) continue
    for (const ip of addresses) {
      if (isPlainAddress(ip)) ready.push({ ip, slice })
      seen += 1
      if (seen % RUN === 0) yield
    }
  }
  yield
  return ready
}

type Concerns = ReadonlyMap<string, Concern>

const NONE: Concerns = new Map()

function joinedConcerns(parts: readonly Concerns[]): Concerns {
  const some = parts.filter(({ size }) => size > 0)
  return some.length === 0 ? NONE : new Map(some.flatMap((part) => [...part]))
}
