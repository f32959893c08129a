// Answers dynamic client registration (RFC 7591) with one preregistered client (decision 12).

import { err, ok, type Result } from '../../kit/result.js'
import { isJsonObject, type Json, type JsonObject, parseJson } from '../../model/json.js'
import { isRedirectUri } from './redirect-uri.js'

/** Maximum size of a request; a larger one gets 413. */
export const MAX_REGISTRATION_BYTES = 64 * 1024

/** A reply with a JSON body. */
export interface JsonReply {
  readonly status: number
  readonly body: JsonObject
}

/** Returns 201, or 400 or 413 with an error of RFC 7591 section 3.2.2. now: milliseconds since the epoch. */
export function answerRegistration(clientId: string, body: Uint8Array, now: number): JsonReply {
  const request = parseRegistration(body)
  if (!request.ok) return request.error
  const { client_name: clientName, redirect_uris: redirectUris } = request.value
  if (!isRedirectUris(redirectUris))
    return registrationRefused(
      400,
      'invalid_redirect_uri',
      'redirect_uris must be a non-empty array of absolute URIs in their normal form, without user and fragment',
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

/** Parses the body as a JSON object, or returns the error reply. */
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

/** Returns an error reply in the form of RFC 7591 section 3.2.2. */
export const registrationRefused = (
  status: number,
  error: string,
  description: string,
): JsonReply => ({
  status,
  body: { error, error_description: description },
})

const isRedirectUris = (value: Json | undefined): value is readonly string[] =>
  Array.isArray(value) &&
  value.length > 0 &&
  value.every((uri: Json) => typeof uri === 'string' && isRedirectUri(uri))
