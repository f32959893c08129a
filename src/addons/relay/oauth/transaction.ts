// Sealed values that replace server-side state: the state that the provider returns, and the code and the refresh token
// for the client.

import type { Vault } from '../../../extauthz/oauth/vault.js'
import type { JsonObject } from '../../../model/json.js'
import type { AuthorizationRequest } from './authorization-request.js'
import { hashOfText, metadataUrl } from './client.js'

/** Time for a login at the provider. */
export const LOGIN_SECONDS = 600
const CODE_SECONDS = 60

/** A login under way. */
export interface Login {
  /** Part of the name of its cookie. */
  readonly id: string
  readonly cookieHash: string
  readonly clientHash: string
  readonly redirectUri: string
  readonly challenge: string
  readonly scopes: string
  readonly state?: string
  /**
   * Host of the client's metadata document. Absent for a registered client, and in a login that an earlier version has
   * begun.
   */
  readonly documentHost?: string
}

/** A code or refresh token of the relay; secret is the provider's. */
export interface Grant {
  readonly secret: string
  readonly clientHash: string
  readonly resource: string
  readonly scopes: string
  /** Where the login returned to. Absent in a refresh token of an earlier version. */
  readonly redirectUri?: string
}

/** A grant that an authorization code stands for. */
export interface CodeGrant extends Grant {
  readonly redirectUri: string
  readonly challenge: string
}

const inSeconds = (now: number, seconds: number): number => Math.floor(now / 1000) + seconds

/** now, here and below: milliseconds. */
export function sealLogin(
  vault: Vault,
  { redirectUri, challenge, scopes, state }: AuthorizationRequest,
  {
    id,
    cookie,
    clientId,
  }: { readonly id: string; readonly cookie: string; readonly clientId: string },
  now: number,
): string {
  const documentHost = metadataUrl(clientId)?.host
  return vault.seal('state', {
    t: id,
    h: hashOfText(cookie),
    k: hashOfText(clientId),
    u: redirectUri,
    q: challenge,
    s: scopes.join(' '),
    ...(state === undefined ? {} : { c: state }),
    ...(documentHost === undefined ? {} : { m: documentHost }),
    exp: inSeconds(now, LOGIN_SECONDS),
  })
}

/** Opens a state that the provider returned. undefined: not one of this relay, or expired. */
export function openLogin(vault: Vault, sealed: string, now: number): Login | undefined {
  const read = textsOf(vault.open('state', sealed, now))
  if (read === undefined) return undefined
  const { t = '', h = '', k = '', u = '', q = '', s = '', c, m } = read
  return {
    id: t,
    cookieHash: h,
    clientHash: k,
    redirectUri: u,
    challenge: q,
    scopes: s,
    ...(c === undefined ? {} : { state: c }),
    ...(m === undefined ? {} : { documentHost: m }),
  }
}

/** Seals an authorization code, which is valid for a short time. */
export const sealCode = (vault: Vault, grant: CodeGrant, now: number): string =>
  vault.seal('code', {
    ...textsOfGrant(grant),
    q: grant.challenge,
    exp: inSeconds(now, CODE_SECONDS),
  })

/** Opens an authorization code. undefined: not one of this relay, or expired. */
export function openCode(vault: Vault, sealed: string, now: number): CodeGrant | undefined {
  const read = textsOf(vault.open('code', sealed, now))
  return read && { ...grantOf(read), redirectUri: read['u'] ?? '', challenge: read['q'] ?? '' }
}

/** Seals a refresh token, which is valid as long as the provider's. */
export const sealRefresh = (vault: Vault, grant: Grant): string =>
  vault.seal('refresh', textsOfGrant(grant))

/** Opens a refresh token. undefined: not one of this relay, or expired. */
export function openRefresh(vault: Vault, sealed: string, now: number): Grant | undefined {
  const read = textsOf(vault.open('refresh', sealed, now))
  return read && grantOf(read)
}

const textsOfGrant = ({
  secret,
  clientHash,
  resource,
  scopes,
  redirectUri,
}: Grant): JsonObject => ({
  p: secret,
  k: clientHash,
  r: resource,
  s: scopes,
  ...(redirectUri === undefined ? {} : { u: redirectUri }),
})

const grantOf = ({ p = '', k = '', r = '', s = '', u }: Texts): Grant => ({
  secret: p,
  clientHash: k,
  resource: r,
  scopes: s,
  ...(u === undefined ? {} : { redirectUri: u }),
})

type Texts = Readonly<Record<string, string>>

const textsOf = (opened: JsonObject | undefined): Texts | undefined =>
  opened &&
  Object.fromEntries(
    Object.entries(opened).flatMap(([name, value]) =>
      typeof value === 'string' ? [[name, value]] : [],
    ),
  )
