// The consent and error pages of a relay: HTML without scripts, styles and images.

import type { Relay } from '../../../model/relay.js'
import type { Client } from './client.js'
import { hostOf, isLoopbackUri } from './redirect-uri.js'

/** What the consent page shows. */
export interface ConsentPage {
  readonly relay: Relay
  readonly client: Client
  readonly redirectUri: string
  readonly scopes: readonly string[]
  /** Token that the form submits. */
  readonly token: string
}

/** Returns the consent page. Its form posts to the page's own URL, including the query. */
export function consentPage({ relay, client, redirectUri, scopes, token }: ConsentPage): string {
  const name = nameOf(client)
  const who =
    client.documentHash === undefined
      ? 'It has registered itself: nobody has checked its name.'
      : `Its description is at ${shown(client.id)}.`
  const where = isLoopbackUri(redirectUri)
    ? 'a program on this computer'
    : `<strong>${shown(hostOf(redirectUri))}</strong>`
  const warning = isAnybodys(redirectUri)
    ? '<p><strong>Any program on this computer can pretend to be this client.</strong> Go on only if you have just started the login in it.</p>'
    : ''
  const asked =
    scopes.length === 0
      ? ''
      : `<p>It asks for:</p><ul>${scopes.map((scope) => `<li>${shown(scope)}</li>`).join('')}</ul>`
  return page(
    'Allow access?',
    `<p><strong>${name === '' ? 'A client without a name' : `<bdi>${name}</bdi>`}</strong> wants to use ${shown(relay.resource)} as you. ${who}</p>
<p>You will be sent back to ${where} (${shown(hostOf(redirectUri))}).</p>
${warning}${asked}
<form method="post"><input type="hidden" name="token" value="${shown(token)}">
<button name="decision" value="allow">Allow and log in</button>
<button name="decision" value="deny">Deny</button></form>`,
  )
}

/** Returns the page for a login that cannot go on. */
export const errorPage = (sentence: string): string =>
  page('The login cannot go on', `<p>${shown(sentence)}</p>`)

/** Whether any local program can receive the redirect: on loopback, or by claiming a custom scheme. */
const isAnybodys = (uri: string): boolean => isLoopbackUri(uri) || !/^https?:/i.test(uri)

const page = (title: string, body: string): string => `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>${title}</title></head><body><main><h1>${title}</h1>
${body}
</main></body></html>
`

/** Returns the client's own name, without more marks on a letter than writing needs: they would cover other lines. */
const nameOf = ({ name = '' }: Client): string =>
  escaped(
    visible(name)
      .replace(/(\p{M}{2})\p{M}+/gu, '$1')
      .replaceAll(BLANK_PATTERN, ' ')
      .trim(),
  )

/** U+2800 is an empty Braille cell. */
const BLANK_PATTERN = '\u2800'

/** Removes invisible characters, which could reverse the text around them. */
const visible = (text: string): string =>
  text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu, '')

/** Escapes text for HTML and attributes. */
const escaped = (text: string): string =>
  text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)

const shown = (text: string): string => escaped(visible(text))
