// The hop count: a header whose value grows by one character whenever a request passes a gateway of Gatehouse. It ends
// loops: a route that leads back to its own gateway would multiply one request until the machine is overloaded.

/** Not among the names that Envoy removes from every request (early-headers.ts), as it must survive every hop. */
export const HOPS_HEADER = 'gatehouse-hops'

/** A request with this many hops gets LOOP_DETECTED. */
export const MAX_HOPS = 5

/** The status of a request that has passed too often (RFC 5842, section 7.2). */
export const LOOP_DETECTED = 508

/** Text that one hop adds to the value. */
export const HOP = '1'

/**
 * Text that a copy of a request (RequestMirror) has in addition to that of its hop: it may pass one more gateway. Each pass of a
 * loop makes up to 16 copies, which would make a million requests of one in five passes.
 */
export const COPY_HOPS = HOP.repeat(MAX_HOPS - 2)

/**
 * Text that a question to a webhook has in addition to the hops of its request: it may pass three gateways. Each pass of a
 * loop asks up to 8 webhooks, one after the other, which would be 9,000 requests in five passes if they fail open.
 */
export const QUESTION_HOPS = HOP.repeat(2)

/** Value for a call that Gatehouse makes because of a request, which may loop too. received: the request's value. */
export const hopsOfCall = (received = ''): string => `${received}${HOP}`
