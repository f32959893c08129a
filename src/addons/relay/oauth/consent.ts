// The consent cookie: sealed consents, each valid for 30 days, one client, its redirect URI, the resource and at most
// the scopes that were shown.

import type { Vault } from '../../../extauthz/oauth/vault.js'
import { isJsonObject, type Json, type JsonObject } from '../../../model/json.js'
import type { Relay } from '../../../model/relay.js'
import { type Client, hashOfText } from './client.js'

/** How long a consent is valid, in seconds. */
export const CONSENT_SECONDS = 30 * 86_400
/** Maximum length of the value, as a cookie has 4 KiB; the oldest consents are dropped first. */
const MAX_SEALED = 3900

/** What a user has consented to. */
export interface Consented {
  readonly client: Client
  readonly redirectUri: string
  readonly scopes: readonly string[]
}

interface Entry {
  /** Hash of the client, redirect URI and resource. */
  readonly f: string
  readonly s: string
  /** Expiry, in seconds since the epoch. */
  readonly e: number
}

/** Returns the name of the cookie, one per policy and issuer. */
export const consentCookie = ({ policy, issuer }: Pick<Relay, 'policy' | 'issuer'>): string =>
  `consent-${hashOfText(`${policy} ${issuer}`).slice(0, 16)}`

/** Whether the cookie covers everything asked. cookie: as sent by the browser. now: milliseconds. */
export function isConsented(
  relay: Relay,
  vault: Vault,
  cookie: string | undefined,
  asked: Consented,
  now: number,
): boolean {
  const purpose = purposeOf(relay, asked)
  const entry = entriesOf(vault, cookie, now).find(({ f }) => f === purpose)
  const known = new Set(entry?.s.split(' '))
  return entry !== undefined && asked.scopes.every((scope) => known.has(scope))
}

/** Returns the value of the cookie with a consent added. */
export function withConsent(
  relay: Relay,
  vault: Vault,
  cookie: string | undefined,
  given: Consented,
  now: number,
): string {
  const f = purposeOf(relay, given)
  const own: Entry = { f, s: given.scopes.join(' '), e: Math.floor(now / 1000) + CONSENT_SECONDS }
  const others = entriesOf(vault, cookie, now).filter((entry) => entry.f !== f)
  for (let entries = [own, ...others]; ; entries = entries.slice(0, -1)) {
    const sealed = vault.seal('consent', { c: entries as unknown as Json, exp: own.e })
    if (sealed.length <= MAX_SEALED || entries.length === 1) return sealed
  }
}

const purposeOf = (relay: Relay, { client, redirectUri }: Consented): string =>
  hashOfText(
    JSON.stringify([client.id, client.documentHash ?? '', redirectUri, relay.resource]),
  ).slice(0, 22)

function entriesOf(vault: Vault, cookie: string | undefined, now: number): readonly Entry[] {
  const opened = cookie === undefined ? undefined : vault.open('consent', cookie, now)
  const list = opened?.['c']
  return Array.isArray(list) ? list.filter(isEntry).filter(({ e }) => now < e * 1000) : []
}

const isEntry = (value: Json): value is Entry & JsonObject =>
  isJsonObject(value) &&
  typeof value['f'] === 'string' &&
  typeof value['s'] === 'string' &&
  typeof value['e'] === 'number'
