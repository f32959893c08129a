// A relay's replies to browsers: pages and redirects. No page of another origin may read or frame them, and none is
// stored.

import type { Reply } from '../../../extproc/session/immediate-response.js'
import type { Relay } from '../../../model/relay.js'
import type { ClientError } from '../oauth/authorization-request.js'
import { errorPage } from '../oauth/pages.js'
import { withParameters } from '../oauth/redirect-uri.js'

/** Lacks form-action, which Chromium applies to every redirect after the form. */
const BROWSER_HEADERS: Readonly<Record<string, string>> = {
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; base-uri 'none'; frame-ancestors 'none'",
  'referrer-policy': 'same-origin',
}

/** Returns a page. details: the response code details in the access log. */
export const pageReply = (
  status: number,
  html: string,
  details: string,
  cookies: readonly string[] = [],
  headers: Readonly<Record<string, string>> = {},
): Reply => ({
  status,
  headers: { ...BROWSER_HEADERS, 'content-type': 'text/html; charset=utf-8', ...headers },
  cookies,
  body: new TextEncoder().encode(html),
  details,
})

/** Returns a page that reports an error. */
export const errorPageReply = (
  status: number,
  sentence: string,
  cookies: readonly string[] = [],
  headers: Readonly<Record<string, string>> = {},
): Reply => pageReply(status, errorPage(sentence), 'gatehouse_relay_refused', cookies, headers)

/** Redirects with 303, which makes the browser continue with GET whatever the method was. location: visible ASCII. */
export const redirectReply = (
  location: string,
  details: string,
  cookies: readonly string[] = [],
): Reply => ({
  status: 303,
  headers: { ...BROWSER_HEADERS, location },
  cookies,
  body: new Uint8Array(),
  details,
})

/** Where a client waits for its answer. */
export interface ReturnTo {
  readonly redirectUri: string
  readonly state?: string | undefined
}

/** Redirects to the client with an error (RFC 6749 section 4.1.2.1) and iss (RFC 9207). */
export const clientErrorReply = (
  { issuer }: Pick<Relay, 'issuer'>,
  { redirectUri, state }: ReturnTo,
  { error, description }: ClientError,
  cookies: readonly string[] = [],
): Reply =>
  redirectReply(
    withParameters(redirectUri, [
      ['error', error],
      ['error_description', description],
      ...stateOf(state),
      ['iss', issuer],
    ]),
    'gatehouse_relay_error',
    cookies,
  )

/** Redirects to the client with a code (RFC 6749 section 4.1.2) and iss. */
export const codeReply = (
  { issuer }: Pick<Relay, 'issuer'>,
  { redirectUri, state }: ReturnTo,
  code: string,
  cookies: readonly string[],
): Reply =>
  redirectReply(
    withParameters(redirectUri, [['code', code], ...stateOf(state), ['iss', issuer]]),
    'gatehouse_relay_code',
    cookies,
  )

const stateOf = (state: string | undefined): [string, string][] =>
  state === undefined ? [] : [['state', state]]
