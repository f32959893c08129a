// Calls the provider's token endpoint as the relay's own client, over the backendRef, within limits of concurrency and
// rate.

import type { Relay } from '../../ir/relay.js'
import type { CallRemote } from '../../remote/http-call.js'
import { err, ok } from '../../result.js'
import type { Rates } from '../stream/rates.js'
import type { Slots } from '../stream/slots.js'
import type { CallProvider } from './relay-request.js'

/** What calls of a token endpoint need. */
export interface ProviderCallDeps {
  readonly callRemote: CallRemote
  /** Limits of concurrent calls and of calls per second, for each token endpoint. */
  readonly slots: Slots
  readonly rates: Rates
}

const TIMEOUT_MS = 10_000
const MAX_BYTES = 256 * 1024

/** Returns a function that calls the provider's token endpoint. */
export const createCallProvider =
  ({ provider, clientId, clientSecret }: Relay, deps: ProviderCallDeps): CallProvider =>
  async (form, signal) => {
    if (provider === undefined) return err('failed')
    const { token, secretIn } = provider
    const place = `relay ${JSON.stringify([token.url, token.endpoints])}`
    const giveBack = deps.rates.take(place) ? deps.slots.take(place) : undefined
    if (giveBack === undefined) return err('busy')
    try {
      const inHeader = clientSecret !== undefined && secretIn === 'header'
      const answer = await deps.callRemote(token, {
        method: 'POST',
        headers: {
          'content-type': 'application/x-www-form-urlencoded',
          ...(inHeader ? { authorization: basic(clientId, clientSecret) } : {}),
        },
        body: new TextEncoder().encode(
          new URLSearchParams({
            ...form,
            ...(inHeader ? {} : { client_id: clientId }),
            ...(clientSecret === undefined || inHeader ? {} : { client_secret: clientSecret }),
          }).toString(),
        ),
        timeoutMs: TIMEOUT_MS,
        maxBytes: MAX_BYTES,
        signal,
      })
      return answer.ok ? ok(answer.value) : err('failed')
    } finally {
      giveBack()
    }
  }

/** Returns an Authorization value. RFC 6749 section 2.3.1: both parts are form-encoded. */
const basic = (id: string, secret: string): string =>
  `Basic ${Buffer.from(`${formEncoded(id)}:${formEncoded(secret)}`).toString('base64')}`

const formEncoded = (text: string): string => new URLSearchParams({ '': text }).toString().slice(1)
