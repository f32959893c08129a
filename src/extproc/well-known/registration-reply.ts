// Answers a client registration, with the configured client or the identity provider's own answer (decision 12).

import {
  answerRegistration,
  type JsonReply,
  parseRegistration,
} from '../../extauthz/oauth/registration.js'
import { abortSignalOf, type Ending } from '../../kit/ending.js'
import type { CallRemote, RemoteAnswer } from '../../kit/http/http-call.js'
import { HOPS_HEADER, hopsOfCall } from '../../model/hops.js'
import { namespaceIn } from '../../model/names.js'
import type { Registration } from '../../model/proc-entry.js'
import type { RemoteTarget } from '../../model/remote-target.js'
import { errorReply, jsonReply, type Reply } from '../session/immediate-response.js'
import type { Slots } from '../session/slots.js'

/** What registration needs. */
export interface RegistrationDeps {
  readonly callRemote: CallRemote
  /**
   * Limits concurrent proxied registrations of each namespace at each provider: anybody may begin one, and each holds a
   * connection.
   */
  readonly slots: Slots
  /** Milliseconds since the epoch. */
  now(): number
}

const PROXY_TIMEOUT_MS = 10_000
const RETRY_AFTER_SECONDS = '5'

/** Headers of the provider's answer that the client gets. None of them sets state or frames the message. */
const PASSED_HEADERS = ['cache-control', 'retry-after', 'www-authenticate']

/** The fields of a registration request. */
export interface RegistrationRequest {
  /** NAMESPACE/NAME of the HTTPRoute. */
  readonly route: string
  /** The whole body. */
  readonly body: Uint8Array
  /** Value of the request's hops header (ir/hops.ts). */
  readonly hops?: string | undefined
}

/** signal: aborts a proxied call. */
export async function registrationReply(
  registration: Registration,
  request: RegistrationRequest,
  signal: Ending,
  deps: RegistrationDeps,
): Promise<Reply> {
  switch (registration.type) {
    case 'answer':
      return ownReply(answerRegistration(registration.clientId, request.body, deps.now()))
    case 'proxy': {
      const parsed = parseRegistration(request.body)
      return parsed.ok
        ? proxiedInTurn(registration.target, request, signal, deps)
        : ownReply(parsed.error)
    }
    case 'refuse':
      return refusedReply(registration.description)
  }
}

/** Answers 501 (decision 12). */
export const refusedReply = (description: string): Reply =>
  errorReply(501, ['invalid_client_metadata', description], 'gatehouse_registration_refused')

const ownReply = ({ status, body }: JsonReply): Reply =>
  jsonReply(status, body, 'gatehouse_registration')

async function proxiedInTurn(
  target: RemoteTarget,
  request: RegistrationRequest,
  signal: Ending,
  deps: RegistrationDeps,
): Promise<Reply> {
  const giveBack = deps.slots.take(placeOf(request.route, target))
  if (giveBack === undefined)
    return errorReply(
      503,
      ['temporarily_unavailable', 'too many clients register at this moment'],
      'gatehouse_registration_busy',
      { 'retry-after': RETRY_AFTER_SECONDS },
    )
  try {
    return await proxiedReply(target, request, signal, deps)
  } finally {
    giveBack()
  }
}

/**
 * Returns the key of the slots that a namespace has at a provider. It includes the endpoints: a target with the same URL
 * elsewhere uses none of them.
 */
const placeOf = (route: string, { url, endpoints }: RemoteTarget): string =>
  JSON.stringify([namespaceIn(route), url, endpoints])

/** Forwards only the body and the count of hops, as the provider may be this gateway. No other header, and no query. */
async function proxiedReply(
  target: RemoteTarget,
  { body, hops }: RegistrationRequest,
  signal: Ending,
  { callRemote }: RegistrationDeps,
): Promise<Reply> {
  const answer = await callRemote(target, {
    method: 'POST',
    headers: { 'content-type': 'application/json', [HOPS_HEADER]: hopsOfCall(hops) },
    body,
    timeoutMs: PROXY_TIMEOUT_MS,
    signal: abortSignalOf(signal),
  })
  return answer.ok && answer.value.status >= 200 && answer.value.status < 600
    ? passedOn(answer.value)
    : errorReply(
        502,
        ['temporarily_unavailable', 'the identity provider did not answer the registration'],
        'gatehouse_registration_upstream',
      )
}

const passedOn = ({ status, headers, body }: RemoteAnswer): Reply => ({
  status,
  headers: {
    'cache-control': 'no-store',
    ...Object.fromEntries(
      PASSED_HEADERS.flatMap((name) => {
        const value = headers[name]
        return value !== undefined && isHeaderValue(value) ? [[name, value]] : []
      }),
    ),
    'content-type': harmlessType(headers['content-type']),
  },
  body,
  details: 'gatehouse_registration_proxied',
})

/** Returns a harmless content type. The answer has the gateway's origin, where a page of the provider must not run. */
const harmlessType = (contentType: string | undefined): string =>
  contentType !== undefined &&
  /^application\/(?:[\w.+-]+\+)?json *(?:;|$)/i.test(contentType) &&
  isHeaderValue(contentType)
    ? contentType
    : 'text/plain'

const isHeaderValue = (value: string): boolean => /^[\x20-\x7e]*$/.test(value)
