// How often a request has passed a gateway of Gatehouse: a header whose value grows by one character each time. A route that leads back to its
// own gateway would otherwise make of one request as many as the machine bears.

/** Not one of the names that Envoy takes from every request (early-headers.ts): it must outlast the way. */
export const HOPS_HEADER = 'gatehouse-hops'

/** A request that has passed so often is refused with 508. */
export const MAX_HOPS = 5

/** What one hop adds to the value. */
export const HOP = '1'

/** For a call of our own because of a request, which may lead back here just as well. received: the request's value. */
export const hopsOfCall = (received = ''): string => `${received}${HOP}`
