// Dynamic client registration (RFC 7591) with one client that is registered already: a request's body into the reply (decision 12).

import { isJsonObject, type Json, type JsonObject, parseJson } from '../ir/json.js'
import { err, ok, type Result } from '../result.js'

/** Over it: 413. */
export const MAX_REGISTRATION_BYTES = 64 * 1024

/** A reply of ours, whose body is JSON. */
export interface JsonReply {
  readonly status: number
  readonly body: JsonObject
}

/** body: as sent. now: milliseconds since the epoch. 201, else 400 or 413 with an RFC 7591 section 3.2.2 error. */
export function answerRegistration(clientId: string, body: Uint8Array, now: number): JsonReply {
  const request = parseRegistration(body)
  if (!request.ok) return request.error
  const { client_name: clientName, redirect_uris: redirectUris } = request.value
  if (!isRedirectUris(redirectUris))
    return registrationRefused(
      400,
      'invalid_redirect_uri',
      'redirect_uris must be a non-empty array of absolute URIs without a fragment',
    )
  return {
    status: 201,
    body: {
      client_id: clientId,
      client_id_issued_at: Math.floor(now / 1000),
      ...(typeof clientName === 'string' && clientName !== '' ? { client_name: clientName } : {}),
      redirect_uris: redirectUris,
      token_endpoint_auth_method: 'none',
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
    },
  }
}

/** The body as a JSON object, or the reply that says what is wrong with it. */
export function parseRegistration(body: Uint8Array): Result<JsonObject, JsonReply> {
  if (body.length > MAX_REGISTRATION_BYTES)
    return err(
      registrationRefused(413, 'invalid_client_metadata', 'the registration is larger than 64 KiB'),
    )
  const request = parseJson(body)
  return isJsonObject(request)
    ? ok(request)
    : err(
        registrationRefused(
          400,
          'invalid_client_metadata',
          'the registration is not a JSON object',
        ),
      )
}

/** An error in the form of RFC 7591 section 3.2.2. */
export const registrationRefused = (
  status: number,
  error: string,
  description: string,
): JsonReply => ({
  status,
  body: { error, error_description: description },
})

const isRedirectUris = (value: Json | undefined): value is readonly string[] =>
  Array.isArray(value) && value.length > 0 && value.every(isRedirectUri)

/** What a browser would run in the place of the page that leads there. */
const RUNNABLE = /^(?:javascript|data|vbscript):/i

/** RFC 6749 section 3.1.2: an absolute URI (of any scheme: native clients have their own), without a fragment. */
const isRedirectUri = (value: Json): boolean =>
  typeof value === 'string' &&
  !RUNNABLE.test(value) &&
  /^[a-z][a-z0-9+.-]*:[^\s#\p{Cc}]+$/iu.test(value) &&
  URL.canParse(value)
