// Answers requests to the endpoints of a relay.

import type { WellKnownEntry } from '../../ir/proc-entry.js'
import type { Relay } from '../../ir/relay.js'
import { type RelayEndpoint, relayPath } from '../../oauth/paths.js'
import { registerClient } from '../../oauth/relay/client.js'
import type { Vault } from '../../oauth/relay/vault.js'
import { errorReply, jsonReply, type Reply } from '../stream/immediate-response.js'
import { authorizeReply } from './authorize-reply.js'
import type { RelayBounds } from './bounds.js'
import { errorPageReply } from './browser-replies.js'
import { callbackReply } from './callback-reply.js'
import { type ClientDocuments, findClient, knownClient } from './clients.js'
import { createCallProvider, type ProviderCallDeps } from './provider-call.js'
import type { RelayContext, RelayRequest } from './relay-request.js'
import { tokenReply } from './token-reply.js'

/** What the relays of a process share. */
export interface RelayDeps extends ProviderCallDeps {
  readonly documents: ClientDocuments
  readonly bounds: RelayBounds
  /** Returns the vault of a relay, whose subkeys are derived once for each relay of the model. */
  vaultOf(relay: Relay): Vault
  /** Milliseconds since the epoch. */
  now(): number
  random(size: number): Uint8Array
}

/** Maximum bytes of a request body; a larger one is answered 413. */
export const MAX_FORM_BYTES = 64 * 1024

const METHODS: Readonly<Record<RelayEndpoint | 'registration', readonly string[]>> = {
  authorize: ['GET', 'POST'],
  callback: ['GET'],
  token: ['POST'],
  registration: ['POST'],
}

const isForPeople = (endpoint: RelayEndpoint | 'registration'): boolean =>
  endpoint === 'authorize' || endpoint === 'callback'

/** Returns a refusal that does not need the body; undefined: nothing is wrong so far. */
export function refusedEarly(
  endpoint: RelayEndpoint | 'registration',
  method: string,
  contentLength: number | undefined,
): Reply | undefined {
  const allowed = METHODS[endpoint]
  if (!allowed.includes(method)) {
    const allow = allowed.join(', ')
    const reply = isForPeople(endpoint)
      ? errorPageReply(405, 'This address is not used in this way.')
      : errorReply(405, ['invalid_request', `the method is ${allow}`], 'gatehouse_relay_method')
    return { ...reply, headers: { ...reply.headers, allow } }
  }
  if (contentLength === undefined || contentLength <= MAX_FORM_BYTES) return undefined
  return isForPeople(endpoint)
    ? errorPageReply(413, 'The request is too large.')
    : errorReply(
        413,
        ['invalid_request', 'the request is larger than 64 KiB'],
        'gatehouse_relay_size',
      )
}

/** request: with its body, after refusedEarly() has returned undefined. signal: aborts calls to other servers. */
export async function relayReply(
  endpoint: RelayEndpoint | 'registration',
  { relay, paths }: { readonly relay: Relay; readonly paths: WellKnownEntry['paths'] },
  request: RelayRequest,
  { signal, deps }: { readonly signal: AbortSignal; readonly deps: RelayDeps },
): Promise<Reply> {
  if (request.body.length > MAX_FORM_BYTES)
    return refusedEarly(endpoint, request.method, request.body.length) ?? TOO_LARGE
  const context = contextOf(relay, paths, deps)
  switch (endpoint) {
    case 'authorize':
      return authorizeReply(context, request, signal)
    case 'callback':
      return callbackReply(context, request)
    case 'token':
      return tokenReply(context, request, signal)
    case 'registration': {
      if (!context.mayAsk('registration', request.network)) return TOO_MANY_REGISTRATIONS
      const { status, body } = registerClient(relay, context.vault, request.body, deps.now())
      return jsonReply(status, body, 'gatehouse_relay_registration')
    }
  }
}

const TOO_MANY_REGISTRATIONS = errorReply(
  429,
  ['temporarily_unavailable', 'too many clients register at this moment'],
  'gatehouse_relay_busy',
  { 'retry-after': '5' },
)
const TOO_LARGE = errorPageReply(413, 'The request is too large.')

function contextOf(
  relay: Relay,
  { mcpPath, origin = '' }: WellKnownEntry['paths'],
  deps: RelayDeps,
): RelayContext {
  const vault = deps.vaultOf(relay)
  return {
    relay,
    vault,
    origin,
    isSecure: origin.startsWith('https:'),
    paths: { callback: relayPath(mcpPath, 'callback') },
    now: () => deps.now(),
    random: (size) => deps.random(size),
    client: (id, signal) =>
      findClient(id, relay, { vault, documents: deps.documents, now: deps.now(), signal }),
    known: (id) => knownClient(id, relay, vault, deps.now()),
    callProvider: createCallProvider(relay, deps),
    mayAsk: (request, network) => deps.bounds.take(request, relay.policy, network),
  }
}
